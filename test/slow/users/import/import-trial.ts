import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'csv-parse/sync'
import { type StoredUser, UsersHandler, type UsersOptions } from '../../../support/handlers/users.ts'
import { collectOutput, type Run, startBuilt } from '../../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../../support/sandbox.ts'
import { type Served, serveHandler } from '../../../support/scripted-server.ts'
import { composeCsv, makeRows, type TestRow } from '../../../users/import/import-rows.ts'

/** When a run is ended from outside. `atCreate` means the first create from that request on. */
export type Moment = { afterMs: number } | { atRequest: number } | { atCreate: number }

/** One row of the results file. */
export interface ResultRow {
  line: string
  email: string
  id: string
  status: string
  error: string
  password?: string
}

interface RunOptions {
  /** When `act` is called, unless the run has ended before. */
  at?: Moment | undefined
  act?: (kill: (signal: NodeJS.Signals) => void) => void
  /** Flags in addition to those of the trial. */
  flags?: readonly string[]
}

interface TrialOptions extends UsersOptions {
  rows: number
  /** Further flags of each run. */
  flags?: readonly string[]
  /** Whether the file contains the passwords. */
  passwords?: boolean
}

export const concurrency = 8

/** The README states both. */
export const killedMoments = 200
export const killedRows = 300

/** One import of a file into one service, with any number of runs. */
export class ImportTrial {
  readonly sandbox: Sandbox
  readonly server: Served<UsersHandler>
  readonly rows: readonly TestRow[]
  readonly #flags: readonly string[]
  /** Number of requests of the last run. */
  requests = 0

  private constructor(sandbox: Sandbox, server: Served<UsersHandler>, options: TrialOptions) {
    this.sandbox = sandbox
    this.server = server
    this.rows = makeRows(server, options.rows)
    this.#flags = options.flags ?? []
    writeFileSync(this.input, composeCsv(this.rows, options.passwords))
  }

  static async begin(options: TrialOptions): Promise<ImportTrial> {
    return new ImportTrial(createSandbox(), await serveHandler(new UsersHandler(options)), options)
  }

  get input(): string {
    return join(this.sandbox.home, 'users.csv')
  }

  get results(): string {
    return join(this.sandbox.home, 'results.csv')
  }

  /** Runs the import until it ends. */
  async run({ at, act, flags = [] }: RunOptions = {}): Promise<Run> {
    const child = startBuilt(
      this.sandbox,
      [
        ...['users', 'import', this.input, '--yes', '--results', this.results],
        ...['--concurrency', String(concurrency), ...this.#flags, ...flags],
      ],
      { env: { CHATCTL_BASE_URL: this.server.url, CHATCTL_API_KEY: 'canary-api-key' } },
    )
    const run = collectOutput(child)
    child.stdin?.end()
    const kill = (signal: NodeJS.Signals) => void child.kill(signal)
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
    const hung = setTimeout(() => child.kill('SIGKILL'), 60_000)
    this.requests = 0
    let isOver = false
    this.server.onRequest = ({ method, path }) => {
      this.requests++
      if (isOver || !at || 'afterMs' in at) return
      const isCreate = method === 'POST' && path === '/v1/users'
      isOver = 'atRequest' in at ? this.requests >= at.atRequest : isCreate && this.requests >= at.atCreate
      if (isOver) act?.(kill)
    }
    if (at && 'afterMs' in at) {
      await Promise.race([closed, sleep(at.afterMs)])
      act?.(kill)
    }
    run.exitCode = await closed
    clearTimeout(hung)
    this.server.onRequest = undefined
    return run
  }

  rowAt(line: number): TestRow {
    const row = this.rows.find((candidate) => candidate.line === line)
    if (!row) throw new Error(`there is no row at line ${line}`)
    return row
  }

  readResults(): ResultRow[] {
    return parse(readFileSync(this.results), { columns: true })
  }

  /** Contents of the results file and of temporary files beside it, which a killed run may leave behind. */
  resultsText(): string {
    return globSync(`${this.results}*`)
      .map((path) => readFileSync(path, 'utf8'))
      .join('')
  }

  /** The users that the service created for the import, as they were sent. */
  createdUsers(): StoredUser[] {
    const { creates, users } = this.server.report()
    const ids = [...creates.values()].flatMap((create) => create.ids)
    return ids.map((id) => users.get(id)).filter((user) => user !== undefined)
  }

  /** Contents and mode of each file in the state directory. */
  stateFiles(): { path: string; text: string; mode: number }[] {
    const directory = this.sandbox.env['XDG_STATE_HOME'] ?? join(this.sandbox.home, '.local', 'state')
    if (!existsSync(directory)) return []
    return globSync('**/*', { cwd: directory })
      .map((name) => join(directory, name))
      .filter((path) => statSync(path).isFile())
      .map((path) => ({ path, text: readFileSync(path, 'latin1'), mode: statSync(path).mode & 0o777 }))
  }

  async end(): Promise<void> {
    await this.server.close()
    this.sandbox.remove()
  }
}
