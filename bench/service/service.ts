import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { hasPostgres } from '../../test/support/postgres.ts'
import { type BoundedFigure, median } from '../measure.ts'
import { measureFdatasync } from './fdatasync.ts'
import { load, type Request } from './load.ts'
import { makeKey, program } from './make-key.ts'
import { type Fairness, measureFairness } from './measure-fairness.ts'
import { measurePostgres } from './measure-postgres.ts'
import { measureRelay } from './measure-relay.ts'
import { raiseLimits } from './raise-limits.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const bareService = resolve(import.meta.dirname, 'bare-service.mjs')
const bareFastify = resolve(import.meta.dirname, 'bare-fastify.mjs')
const connections = 32

/** In ms. Below it, the bare server loses little by one flush per request (docs/decisions/0022-bounds-and-machines.md). */
const fastFlush = 0.17

/** Requests before the CPU time of a GET is measured, so that V8 has compiled the code. */
const warmUp = 12_000

/** Compares the embedded service with bare servers that do the same work. Linux only. */
export async function benchService(rounds: number): Promise<BoundedFigure[]> {
  process.stdout.write(
    `service and bare server, medians of ${rounds} rounds, ${connections} connections, Node ${process.versions.node}\n`,
  )
  const { cpu, rate, start, sync } = await measureSqlite(rounds)
  process.stdout.write(`one fdatasync ${sync.toFixed(2)} ms\n`)
  const { whole, streamed } = await measureRelay(rounds)
  const figures = [
    compare('CPU of a GET, ms, of Fastify', cpu, { most: 1.6 }),
    compare('POST at synchronous=FULL, /s', rate, { least: sync < fastFlush ? 0.9 : 1.5 }),
    compare('start to first 200, ms', start, { most: 2.3 }),
    compare('CPU of a relayed reply, ms', whole, { most: 2.5 }),
  ]
  // Without a bound.
  compare('CPU of a relayed stream, ms', streamed, { most: Number.POSITIVE_INFINITY })
  if (hasPostgres())
    figures.push(compare('GET on PostgreSQL, /s', await measurePostgres(rounds), { least: 2.5 }))
  else process.stdout.write('PostgreSQL is not installed\n')
  const { get, post } = await measureFairness(rounds)
  figures.push(
    besideNoise('GET of a quiet key, ms', get, 9),
    besideNoise('POST of a quiet key, ms', post, 17),
  )
  return figures
}

interface Figures {
  service: number
  bare: number
}

function compare(name: string, { service, bare }: Figures, bound: BoundedFigure['bound']): BoundedFigure {
  const seen = [service, bare].map((value) => value.toFixed(value < 10 ? 3 : 0)).join(' and ')
  const value = service / bare
  process.stdout.write(`${name.padEnd(30)} ${seen}: ${value.toFixed(2)}\n`)
  return { name, value, bound }
}

function besideNoise(name: string, { alone, besideNoise, noise }: Fairness, most: number): BoundedFigure {
  const ratio = (besideNoise / alone).toFixed(1)
  process.stdout.write(
    `${name.padEnd(30)} ${besideNoise.toFixed(2)} beside ${noise.toFixed(0)}/s, ${alone.toFixed(2)} alone: ${ratio}\n`,
  )
  return { name, value: besideNoise, bound: { most } }
}

/** All use SQLite; the bare servers have a copy of the service's data. */
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
      bare: [bareService, join(directory, 'bare.db')],
      fastify: [bareFastify, join(directory, 'bare.db')],
    }
    const seen = {
      cpu: { service: [] as number[], bare: [] as number[] },
      rate: { service: [] as number[], bare: [] as number[] },
      start: { service: [] as number[], bare: [] as number[] },
    }
    // The first round fills the caches of the machine and of this process.
    for (let round = -1; round < rounds; round++) {
      for (const name of ['service', 'bare', 'fastify'] as const) {
        const server = await startServer(commands[name], get.path, authorization)
        if (name !== 'bare') {
          await load(server.url, get, { connections, count: warmUp })
          const cpu = await cpuOfRequest(server, get, 10_000)
          if (round >= 0) seen.cpu[name === 'fastify' ? 'bare' : name].push(cpu)
        }
        if (name !== 'fastify') {
          await load(server.url, post, { connections, count: 500 })
          const rate = await load(server.url, post, { connections, count: 4_000 })
          if (round >= 0) seen.rate[name].push(rate)
          if (round >= 0) seen.start[name].push(server.firstAnswer)
        }
        await server.stop()
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
  await raiseLimits(data)
  copyFileSync(join(data, 'chatctl.db'), join(directory, 'bare.db'))
  return key
}

/** In ms. */
async function cpuOfRequest(server: ServerProcess, request: Request, count: number): Promise<number> {
  const before = server.cpu()
  await load(server.url, request, { connections, count })
  return (server.cpu() - before) / count
}
