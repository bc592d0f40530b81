import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'undici'
import { median } from '../measure.ts'

/** Concurrent requests. */
const concurrency = 32

/** Requests per measurement. A streamed request costs more. */
const requests = { whole: 4000, streamed: 800 } as const

type Kind = keyof typeof requests

export interface RelayFigures {
  /** CPU time per request of the service and of the bare relay, in ms. */
  service: number
  bare: number
  ratio: number
}

/**
 * CPU time of the embedded service for a relayed reply, relative to a bare relay (node:http and undici)
 * with the same model server, in separate processes that take turns: medians over the rounds. `whole` is
 * `POST /v1/chat/completions` on both. `streamed` is `POST /api/chat/send`, which also stores both
 * messages; the bare relay only pipes the stream.
 */
export async function measureRelay(rounds: number): Promise<Record<Kind, RelayFigures>> {
  const directory = mkdtempSync(join(tmpdir(), 'chatctl-bench-'))
  const model = await start('model-server', [])
  const modelServer = `http://127.0.0.1:${model.port}`
  const bare = await start('bare-relay', [modelServer])
  const service = await start('service', [modelServer, directory])
  try {
    const whole = await compare(rounds, service, bare, 'whole')
    const streamed = await compare(rounds, service, bare, 'streamed')
    return { whole, streamed }
  } finally {
    for (const { child } of [service, bare, model]) {
      child.disconnect()
      await once(child, 'exit')
    }
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Relay {
  child: ChildProcess
  port: number
  key?: string
}

async function start(name: string, args: readonly string[]): Promise<Relay> {
  const child = fork(join(import.meta.dirname, 'relay', `${name}.ts`), args)
  const [told] = await once(child, 'message')
  return { child, ...told }
}

async function compare(rounds: number, service: Relay, bare: Relay, kind: Kind): Promise<RelayFigures> {
  const used = { service: [] as number[], bare: [] as number[] }
  for (let round = -1; round < rounds; round++) {
    const [ours, theirs] = [await load(service, kind), await load(bare, kind)]
    // The first round is a warm-up.
    if (round < 0) continue
    used.service.push(ours)
    used.bare.push(theirs)
  }
  const figures = { service: median(used.service), bare: median(used.bare) }
  return { ...figures, ratio: figures.service / figures.bare }
}

/** CPU time per request, in ms. */
async function load({ child, port, key = 'none' }: Relay, kind: Kind): Promise<number> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: concurrency })
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const { path, body } = asked(kind)
  let left: number = requests[kind]
  const work = async () => {
    while (left-- > 0) {
      const answer = await pool.request({ method: 'POST', path, headers, body })
      const text = await answer.body.text()
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text}`)
    }
  }
  const before = await cpuOf(child)
  await Promise.all(Array.from({ length: concurrency }, work))
  const after = await cpuOf(child)
  await pool.close()
  return (after - before) / requests[kind]
}

function asked(kind: Kind): { path: string; body: string } {
  const content = 'How much work does a relay have? '.repeat(6)
  if (kind === 'whole') {
    const body = { model: 'bench', messages: [{ role: 'user', content }] }
    return { path: '/v1/chat/completions', body: JSON.stringify(body) }
  }
  return { path: '/api/chat/send', body: JSON.stringify({ model: 'bench', message: content, stream: true }) }
}

async function cpuOf(child: ChildProcess): Promise<number> {
  child.send('cpu')
  const [{ cpu }] = await once(child, 'message')
  return cpu
}
