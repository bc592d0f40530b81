import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Pool } from 'undici'
import { localAuditContext } from '../src/service/domain/audit.ts'
import { updateSettings } from '../src/service/domain/settings.ts'
import { openSqlite } from '../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../src/system/clock.ts'
import {
  type Bound,
  type Figure,
  measureInTurn,
  program,
  ratio,
  type ServerProcess,
  startServer,
  timeOneFlush,
} from './measure.ts'

const connections = 32

/** In ms. Below it, the bare server loses little by one flush per request (docs/decisions/0022-bounds-and-machines.md). */
const fastFlush = 0.17

interface Request {
  method: 'GET' | 'POST'
  path: string
  body?: string
}

const get: Request = { method: 'GET', path: '/v1/users/usr_admin' }
const prompt = 'How much work does a relay have? '.repeat(6)

const post = (path: string, body: object): Request => ({ method: 'POST', path, body: JSON.stringify(body) })

/** A bare server, the request that both get, and how often: before the measurement, and in it. */
interface Comparison {
  bare: string
  request: Request
  warmUp: number
  count: number
}

const comparisons = {
  // V8 has compiled most of the code after the warm-up.
  get: { bare: 'bare-fastify.mjs', request: get, warmUp: 12_000, count: 10_000 },
  post: {
    bare: 'bare-service.mjs',
    request: post('/api/chat/send', { message: 'How many words has this question?' }),
    warmUp: 500,
    count: 4_000,
  },
  relay: {
    bare: 'bare-relay.ts',
    request: post('/v1/chat/completions', {
      model: 'bench',
      messages: [{ role: 'user', content: prompt }],
    }),
    warmUp: 4_000,
    count: 4_000,
  },
  stream: {
    bare: 'bare-relay.ts',
    request: post('/api/chat/send', { model: 'bench', message: prompt, stream: true }),
    warmUp: 800,
    count: 800,
  },
} satisfies Record<string, Comparison>

/** CPU time per request and time to the first response in ms, and requests per second. */
type Measured = Record<'cpu' | 'start' | 'rate', number>

/** Compares the embedded service with bare servers that do the same work. Linux only. */
export async function benchService(rounds: number): Promise<Figure[]> {
  const directory = mkdtempSync(join(tmpdir(), 'chatctl-bench-'))
  const model = await startServer([join(import.meta.dirname, 'service/model-server.ts')])
  try {
    const key = await prepareData(directory)
    const measure = (name: keyof typeof comparisons) =>
      compare(comparisons[name], { directory, key, modelServer: model.url }, rounds)
    const [get, post] = [await measure('get'), await measure('post')]
    const [relay, stream] = [await measure('relay'), await measure('stream')]
    const flush = timeOneFlush(directory)
    const figure = (
      name: string,
      unit: keyof Measured,
      { service, bare }: Record<'service' | 'bare', Measured>,
      bound?: Bound,
    ) => ratio(name, unit === 'rate' ? '/s' : 'ms', service[unit], bare[unit], bound)
    return [
      figure('CPU of a GET, of Fastify', 'cpu', get, { most: 1.6 }),
      figure('POSTs per second, of node:http', 'rate', post, { least: flush < fastFlush ? 0.9 : 1.5 }),
      figure('start to the first 200, of node:http', 'start', post, { most: 2.3 }),
      figure('CPU of a relayed reply, of node:http and undici', 'cpu', relay, { most: 2.5 }),
      figure('CPU of a relayed stream, of node:http and undici', 'cpu', stream),
      { name: 'one fdatasync', value: flush, detail: 'ms' },
    ]
  } finally {
    await model.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Prepared {
  directory: string
  key: string
  modelServer: string
}

function compare(
  { bare, request, warmUp, count }: Comparison,
  { directory, key, modelServer }: Prepared,
  rounds: number,
): Promise<Record<'service' | 'bare', Measured>> {
  const isRelay = bare === 'bare-relay.ts'
  const flags = ['--port', '0', '--data', join(directory, 'ours'), '--log-level', 'silent', '--json']
  if (isRelay) flags.push('--model-server', `${modelServer}/v1`)
  const commands = {
    service: [program, 'service', 'run', ...flags, '--admin-port', 'off'],
    // With a copy of the data of the service.
    bare: [join(import.meta.dirname, 'service', bare), isRelay ? modelServer : join(directory, 'bare.db')],
  }
  return measureInTurn(['service', 'bare'], { rounds, warmUps: 1 }, async (name) => {
    const startedAt = performance.now()
    const server = await startServer(commands[name])
    await load(server, get, key, 1)
    const start = performance.now() - startedAt
    await load(server, request, key, warmUp)
    const before = server.cpu()
    const rate = await load(server, request, key, count)
    const cpu = (server.cpu() - before) / count
    await server.stop()
    return { cpu, start, rate }
  })
}

/**
 * Sends requests over several connections, one at a time on each.
 *
 * @returns requests per second
 * @throws Error for a status other than 2xx: a refused request is fast and would distort the result
 */
async function load({ url }: ServerProcess, request: Request, key: string, count: number): Promise<number> {
  const pool = new Pool(url, { connections, pipelining: 1 })
  const headers = {
    authorization: `Bearer ${key}`,
    ...(request.body && { 'content-type': 'application/json' }),
  }
  let left = count
  const startedAt = performance.now()
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const { statusCode, body } = await pool.request({ ...request, headers })
      await body.dump()
      if (statusCode >= 300) throw new Error(`${request.method} ${request.path} was answered ${statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const seconds = (performance.now() - startedAt) / 1000
  await pool.close()
  return count / seconds
}

/** Creates a data directory with an API key without limits, and a copy of its database. */
async function prepareData(directory: string): Promise<string> {
  const data = join(directory, 'ours')
  const flags = ['--data', data, '--name', 'bench', '--tier', 'enterprise', '--jq', '.key']
  const key = execFileSync(process.execPath, [program, 'service', 'keys', 'create', ...flags])
    .toString()
    .trim()
  // More requests per minute than the default rate limit allows.
  const store = openSqlite(data)
  const limits = { max_requests_per_min: 1_000_000_000 }
  await updateSettings(store.db, { limits }, localAuditContext(systemClock))
  await store.close()
  copyFileSync(join(data, 'chatctl.db'), join(directory, 'bare.db'))
  return key
}
