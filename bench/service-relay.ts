import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'undici'
import { median } from './measure.ts'

/** Requests in flight. */
const concurrency = 32

/** Requests of one measurement; a streamed one costs more. */
const requests = { whole: 4000, streamed: 800 } as const

type Kind = keyof typeof requests

export interface RelayFigures {
  /** CPU of our service and of the bare relay, in ms for a request. */
  service: number
  bare: number
  ratio: number
}

/**
 * CPU that our service uses for a relayed answer, against a bare node:http and undici relay to the
 * same model server, each in a process of its own, in turn: medians over the rounds. `whole` is
 * `POST /v1/chat/completions` on both; `streamed` is `POST /api/chat/send`, which also stores both
 * messages, against the bare relay piping the same stream.
 */
export async function measureRelay(rounds: number): Promise<Record<Kind, RelayFigures>> {
  const folder = mkdtempSync(join(tmpdir(), 'chatctl-bench-'))
  const model = await start('model-server', [])
  const upstream = `http://127.0.0.1:${model.port}`
  const bare = await start('bare-relay', [upstream])
  const service = await start('service', [upstream, folder])
  try {
    const whole = await compare(rounds, service, bare, 'whole')
    const streamed = await compare(rounds, service, bare, 'streamed')
    return { whole, streamed }
  } finally {
    for (const { child } of [service, bare, model]) {
      child.disconnect()
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
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
    // The first round only warms up.
    if (round < 0) continue
    used.service.push(ours)
    used.bare.push(theirs)
  }
  const figures = { service: median(used.service), bare: median(used.bare) }
  return { ...figures, ratio: figures.service / figures.bare }
}

/** ms of CPU for each request. */
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
  const content = 'What is there to say about a relay? '.repeat(6)
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
