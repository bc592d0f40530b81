import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  accessSync,
  chownSync,
  constants,
  globSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { freePort } from './free-port.ts'

/** A PostgreSQL server for tests: an empty cluster in a temporary directory, with password authentication. */
export interface TemporaryPostgres {
  /** `postgres://chatctl:…@127.0.0.1:…/postgres`, with the password. */
  url: string
  /** The password, which must not appear in any output. */
  password: string
  /** The directory of its Unix socket, `.s.PGSQL.<port>`. */
  socketDirectory: string
  port: number
  /** The URL of a new empty database. */
  createDatabase(): Promise<string>
  dropDatabase(url: string): Promise<void>
  /** Runs SQL as the owner of the cluster, in the database of a URL or in `postgres`. */
  query(sql: string, url?: string): Promise<Record<string, unknown>[]>
  /** Stops the server and waits. `fast` (the default) ends sessions normally, `immediate` is a crash. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  /** Starts the server again on the same port, and waits until it accepts connections. */
  start(): Promise<void>
  /** Stops the server and removes its directory. */
  close(): Promise<void>
}

const run = promisify(execFile)
const user = 'chatctl'

let shared: Promise<TemporaryPostgres> | undefined

/** One cluster that all suites of this process share, if they only need a separate database. */
export function sharedPostgres(): Promise<TemporaryPostgres> {
  shared ??= startPostgres()
  return shared
}

export async function startPostgres(): Promise<TemporaryPostgres> {
  const bin = programs()
  if (bin === undefined) throw new Error('PostgreSQL is not installed')
  const account = unprivileged()
  const directory = mkdtempSync(join(tmpdir(), 'chatctl-postgres-'))
  if (account.uid !== undefined) chownSync(directory, account.uid, account.gid ?? account.uid)
  const options = { ...account, cwd: directory, env: { PATH: process.env['PATH'], LC_ALL: 'C' } }
  const password = `pw-${Math.random().toString(36).slice(2)}`
  const passwordFile = join(directory, 'password')
  writeFileSync(passwordFile, password)
  const data = join(directory, 'data')
  // Skips fsync only in initdb. The running server flushes its writes to disk.
  const settings = ['-U', user, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`, '-E', 'UTF8', '--no-sync']
  await run(join(bin, 'initdb'), ['-D', data, ...settings, '--locale=C'], options)

  const port = await freePort()
  const url = `postgres://${user}:${password}@127.0.0.1:${port}/postgres`
  let server: ChildProcess | undefined

  const start = async () => {
    const log = openSync(join(directory, 'log'), 'a')
    const arguments_ = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', directory]
    server = spawn(join(bin, 'postgres'), arguments_, { ...options, stdio: ['ignore', log, log] })
    const deadline = Date.now() + 30_000
    while (!(await answers(url))) {
      if (server.exitCode === null && Date.now() < deadline) continue
      throw new Error(
        `PostgreSQL did not start:\n${readFileSync(join(directory, 'log'), 'utf8').slice(-2000)}`,
      )
    }
  }
  const stop = async (mode: 'fast' | 'immediate' = 'fast') => {
    if (!server || server.exitCode !== null) return
    const ended = once(server, 'exit')
    server.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await ended
  }
  // An interrupted test run leaves no server and no directory.
  const abandon = () => {
    spawnSync(join(bin, 'pg_ctl'), ['stop', '-D', data, '-m', 'immediate'], options)
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  }
  process.once('exit', abandon)
  const query = async (sql: string, at = url) => {
    const client = new Client({ connectionString: at })
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  await start()
  let databases = 0
  return {
    url,
    password,
    socketDirectory: directory,
    port,
    async createDatabase() {
      const name = `test_${process.pid}_${++databases}`
      await query(`create database ${name}`)
      return url.replace(/\/postgres$/, `/${name}`)
    },
    async dropDatabase(of) {
      await query(`drop database ${new URL(of).pathname.slice(1)} with (force)`)
    },
    query,
    stop,
    start,
    async close() {
      process.off('exit', abandon)
      await stop('immediate')
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** The directory of `initdb`, `postgres`, and `pg_ctl`: $POSTGRES_BIN, the Debian directory, or on the PATH. */
function programs(): string | undefined {
  const asked = process.env['POSTGRES_BIN']
  const directories = asked
    ? [asked]
    : [
        ...globSync('/usr/lib/postgresql/*/bin').sort((a, b) => versionOf(b) - versionOf(a)),
        ...(process.env['PATH'] ?? '').split(delimiter),
      ]
  return directories.find((directory) =>
    ['initdb', 'postgres', 'pg_ctl'].every((name) => isExecutable(join(directory, name))),
  )
}

const versionOf = (directory: string) => Number(/\d+/.exec(directory)?.[0])

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The account for PostgreSQL, which does not run as root. */
export function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (option: string) => Number(execFileSync('id', [option, name], { stdio: 'pipe' }).toString())
      return { uid: id('-u'), gid: id('-g') }
    } catch {
      // This system has no user with this name.
    }
  }
  throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody')
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 1000 })
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 30))
    return false
  }
}
