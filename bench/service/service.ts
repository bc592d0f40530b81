import { execFileSync } from 'node:child_process'
import { closeSync, copyFileSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { onMachine } from '../../src/service/domain/audit.ts'
import { updateSettings } from '../../src/service/domain/settings.ts'
import { openSqlite } from '../../src/service/store/sqlite/open-sqlite.ts'
import { median } from '../measure.ts'
import { load, type Request } from './load.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const program = resolve(import.meta.dirname, '../../bin/run.js')
const bare = resolve(import.meta.dirname, 'bare-service.mjs')
const connections = 32

/**
 * The embedded service against a bare node:http server that does the same SQL on a copy of its
 * data: CPU of a GET, throughput of a POST at synchronous=FULL, start to first answer. Linux only.
 */
export async function benchService(rounds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'chatctl-bench-'))
  try {
    const { key, id } = await prepareData(folder)
    const authorization = { authorization: `Bearer ${key}` }
    const get: Request = { method: 'GET', path: `/v1/users/${id}`, headers: authorization }
    const post: Request = {
      method: 'POST',
      path: '/api/chat/send',
      headers: { ...authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'How many words has this question?' }),
    }
    const startOurs = () =>
      startServer(
        [
          program,
          'service',
          'run',
          '--port',
          '0',
          '--data',
          join(folder, 'ours'),
          '--json',
          '--log-level',
          'silent',
        ],
        get.path,
        authorization,
      )
    const startBare = () => startServer([bare, join(folder, 'bare.db')], get.path)
    const starts = { ours: [] as number[], bare: [] as number[] }
    const cpu = { ours: [] as number[], bare: [] as number[] }
    const rate = { ours: [] as number[], bare: [] as number[] }
    for (let round = 0; round < rounds; round++) {
      const servers = { ours: await startOurs(), bare: await startBare() }
      for (const name of ['ours', 'bare'] as const) {
        const server = servers[name]
        starts[name].push(server.firstAnswer)
        await load(server.url, get, { connections, count: 3_000 })
        cpu[name].push(await cpuOfRequest(server, get, 10_000))
        await load(server.url, post, { connections, count: 500 })
        rate[name].push(await load(server.url, post, { connections, count: 4_000 }))
      }
      await servers.ours.stop()
      await servers.bare.stop()
    }
    const line = (name: string, ours: number, theirs: number, unit: string, bound: string) =>
      process.stdout.write(
        `${name.padEnd(28)} ${ours.toFixed(3)} and ${theirs.toFixed(3)} ${unit}: ${(ours / theirs).toFixed(2)} (wanted ${bound})\n`,
      )
    process.stdout.write(
      `service and bare server, median of ${rounds} rounds, ${connections} connections, Node ${process.versions.node}\n`,
    )
    process.stdout.write(`one fdatasync ${fdatasyncTime(folder).toFixed(2)} ms\n`)
    line('CPU of a GET', median(cpu.ours), median(cpu.bare), 'ms', '≤ 1.8')
    line('POST at synchronous=FULL', median(rate.ours), median(rate.bare), '/s', '≥ 1.5')
    line('start to first 200', median(starts.ours), median(starts.bare), 'ms', '≤ 2.3')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A data folder with a key that nothing limits, and a copy of its database. */
async function prepareData(folder: string): Promise<{ key: string; id: string }> {
  const data = join(folder, 'ours')
  const run = (...args: string[]) =>
    JSON.parse(
      execFileSync(process.execPath, [program, ...args, '--json'], {
        env: { ...process.env, XDG_DATA_HOME: folder, HOME: folder },
        encoding: 'utf8',
      }),
    )
  const { key } = run('service', 'keys', 'create', '--name', 'bench', '--tier', 'enterprise', '--data', data)
  // A round takes less than a minute, and more requests than the service as shipped lets in.
  const store = openSqlite(data)
  await updateSettings(store.db, { limits: { max_requests_per_min: 1_000_000_000 } }, onMachine)
  await store.close()
  copyFileSync(join(data, 'chatctl.db'), join(folder, 'bare.db'))
  return { key, id: 'usr_admin' }
}

/** Milliseconds. */
async function cpuOfRequest(server: ServerProcess, request: Request, count: number): Promise<number> {
  const before = server.cpu()
  await load(server.url, request, { connections, count })
  return (server.cpu() - before) / count
}

/** Milliseconds of one fdatasync of a small write, where the databases lie. */
function fdatasyncTime(folder: string): number {
  const file = openSync(join(folder, 'sync'), 'w')
  const times = Array.from({ length: 101 }, () => {
    writeSync(file, 'x'.repeat(4096))
    const startedAt = performance.now()
    fdatasyncSync(file)
    return performance.now() - startedAt
  })
  closeSync(file)
  return median(times)
}
