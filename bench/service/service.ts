import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { localAuditContext } from '../../src/service/domain/audit.ts'
import { updateSettings } from '../../src/service/domain/settings.ts'
import { openSqlite } from '../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../src/system/clock.ts'
import { hasPostgres } from '../../test/support/postgres.ts'
import { median } from '../measure.ts'
import { measureFdatasync } from './fdatasync.ts'
import { load, type Request } from './load.ts'
import { makeKey, program } from './make-key.ts'
import { measurePostgres } from './measure-postgres.ts'
import { measureRelay } from './measure-relay.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const bare = resolve(import.meta.dirname, 'bare-service.mjs')
const connections = 32

/** Compares the embedded service with bare servers that do the same work. Linux only. */
export async function benchService(rounds: number): Promise<void> {
  process.stdout.write(
    `service and bare server, medians of ${rounds} rounds, ${connections} connections, Node ${process.versions.node}\n`,
  )
  const { cpu, rate, start, sync } = await measureSqlite(rounds)
  process.stdout.write(`one fdatasync ${sync.toFixed(2)} ms\n`)
  tell('CPU of a GET, ms', cpu, '≤ 1.8')
  tell('POST at synchronous=FULL, /s', rate, '≥ 1.5')
  tell('start to first 200, ms', start, '≤ 2.3')
  const { whole, streamed } = await measureRelay(rounds)
  tell('CPU of a relayed answer, ms', whole, '≤ 1.8')
  tell('CPU of a relayed stream, ms', streamed, '–')
  if (hasPostgres()) tell('GET on PostgreSQL, /s', await measurePostgres(rounds), '≥ 2.5')
  else process.stdout.write('PostgreSQL is not installed\n')
}

interface Figures {
  service: number
  bare: number
}

function tell(name: string, { service, bare }: Figures, wanted: string): void {
  const seen = [service, bare].map((value) => value.toFixed(value < 10 ? 3 : 0)).join(' and ')
  process.stdout.write(`${name.padEnd(30)} ${seen}: ${(service / bare).toFixed(2)} (wanted ${wanted})\n`)
}

/** Both use SQLite; the bare server has a copy of the service's data. */
async function measureSqlite(
  rounds: number,
): Promise<{ cpu: Figures; rate: Figures; start: Figures; sync: number }> {
  const directory = mkdtempSync(join(tmpdir(), 'chatctl-bench-'))
  try {
    const key = await prepareData(directory)
    const authorization = { authorization: `Bearer ${key}` }
    const get: Request = { method: 'GET', path: '/v1/users/usr_admin', headers: authorization }
    const post: Request = {
      method: 'POST',
      path: '/api/chat/send',
      headers: { ...authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'How many words has this question?' }),
    }
    const flags = [
      '--port',
      '0',
      '--data',
      join(directory, 'ours'),
      '--json',
      '--log-level',
      'silent',
      '--admin-port',
      'off',
    ]
    const commands = {
      service: [program, 'service', 'run', ...flags],
      bare: [bare, join(directory, 'bare.db')],
    }
    const seen = {
      cpu: { service: [] as number[], bare: [] as number[] },
      rate: { service: [] as number[], bare: [] as number[] },
      start: { service: [] as number[], bare: [] as number[] },
    }
    // The first round fills the caches of the machine and of this process.
    for (let round = -1; round < rounds; round++) {
      for (const name of ['service', 'bare'] as const) {
        const server = await startServer(commands[name], get.path, authorization)
        await load(server.url, get, { connections, count: 3_000 })
        const cpu = await cpuOfRequest(server, get, 10_000)
        await load(server.url, post, { connections, count: 500 })
        const rate = await load(server.url, post, { connections, count: 4_000 })
        await server.stop()
        if (round < 0) continue
        seen.start[name].push(server.firstAnswer)
        seen.cpu[name].push(cpu)
        seen.rate[name].push(rate)
      }
    }
    const medians = ({ service, bare }: { service: number[]; bare: number[] }): Figures => ({
      service: median(service),
      bare: median(bare),
    })
    return {
      cpu: medians(seen.cpu),
      rate: medians(seen.rate),
      start: medians(seen.start),
      sync: measureFdatasync(directory),
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Creates a data directory with an API key without limits, and a copy of its database. */
async function prepareData(directory: string): Promise<string> {
  const data = join(directory, 'ours')
  const key = makeKey(['--data', data])
  // One round sends more requests per minute than the default rate limit allows.
  const store = openSqlite(data)
  await updateSettings(
    store.db,
    { limits: { max_requests_per_min: 1_000_000_000 } },
    localAuditContext(systemClock),
  )
  await store.close()
  copyFileSync(join(data, 'chatctl.db'), join(directory, 'bare.db'))
  return key
}

/** In ms. */
async function cpuOfRequest(server: ServerProcess, request: Request, count: number): Promise<number> {
  const before = server.cpu()
  await load(server.url, request, { connections, count })
  return (server.cpu() - before) / count
}
