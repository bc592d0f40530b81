import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'undici'
import { median } from '../measure.ts'
import type { Request } from './load.ts'
import { makeKey, program } from './make-key.ts'
import { raiseLimits } from './raise-limits.ts'
import { startServer } from './server-process.ts'

/** Connections of the noisy key, each with one request at a time. */
const connections = 256

/** Requests of the quiet key per measurement, one after the other. */
const count = 300

/** How long, in ms, the noise lasts before it is measured. */
const warmUp = 1500

export interface Fairness {
  /** Median time of a response to the quiet key, in ms. */
  alone: number
  besideNoise: number
  /** Requests of the noisy key per second. */
  noise: number
}

const requests = {
  get: { method: 'GET', path: '/v1/users/usr_admin' },
  post: {
    method: 'POST',
    path: '/api/chat/send',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'How many words has this question?' }),
  },
} as const satisfies Record<string, Request>

type Kind = keyof typeof requests

/** The response times of a key while another key sends the same request on many connections: medians over the rounds. */
export async function measureFairness(rounds: number): Promise<Record<Kind, Fairness>> {
  const directory = mkdtempSync(join(tmpdir(), 'chatctl-bench-'))
  try {
    const [noisy, quiet] = [makeKey(['--data', directory]), makeKey(['--data', directory])]
    await raiseLimits(directory)
    const args = [
      '--data',
      directory,
      '--port',
      '0',
      '--json',
      '--log-level',
      'silent',
      '--admin-port',
      'off',
    ]
    const server = await startServer([program, 'service', 'run', ...args], '/healthz')
    try {
      const seen: Record<Kind, Fairness[]> = { get: [], post: [] }
      for (let round = -1; round < rounds; round++) {
        for (const kind of ['get', 'post'] as const) {
          const figures = await measureOne(server.url, requests[kind], { noisy, quiet })
          if (round >= 0) seen[kind].push(figures)
        }
      }
      return { get: medians(seen.get), post: medians(seen.post) }
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measureOne(
  url: string,
  request: Request,
  { noisy, quiet }: { noisy: string; quiet: string },
): Promise<Fairness> {
  await timeRequests(url, request, quiet)
  const alone = await timeRequests(url, request, quiet)
  const child = await startNoise(url, request, noisy)
  await sleep(warmUp)
  const before = await responsesOf(child)
  const startedAt = performance.now()
  const besideNoise = await timeRequests(url, request, quiet)
  const noise = ((await responsesOf(child)) - before) / ((performance.now() - startedAt) / 1000)
  child.disconnect()
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`the noise ended with ${code}`)
  return { alone, besideNoise, noise }
}

/** The median time of a response, in ms. */
async function timeRequests(url: string, request: Request, key: string): Promise<number> {
  const client = new Client(url)
  const times: number[] = []
  for (let index = 0; index < count; index++) {
    const startedAt = performance.now()
    const { statusCode, body } = await client.request({
      ...request,
      headers: { ...request.headers, authorization: `Bearer ${key}` },
    })
    await body.dump()
    times.push(performance.now() - startedAt)
    if (statusCode !== 200) throw new Error(`${request.path} was answered ${statusCode}`)
    await sleep(1 + (index % 7))
  }
  await client.close()
  return median(times)
}

async function startNoise(url: string, { method, path, headers, body = '' }: Request, key: string) {
  const { host, port } = new URL(url)
  const fields = { host, authorization: `Bearer ${key}`, 'content-length': body.length, ...headers }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const text = `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
  const child = fork(join(import.meta.dirname, 'noise.ts'), [port, String(connections), text])
  await once(child, 'message')
  return child
}

async function responsesOf(child: ChildProcess): Promise<number> {
  child.send('responses')
  const [{ responses }] = await once(child, 'message')
  return responses
}

const medians = (figures: readonly Fairness[]): Fairness => ({
  alone: median(figures.map(({ alone }) => alone)),
  besideNoise: median(figures.map(({ besideNoise }) => besideNoise)),
  noise: median(figures.map(({ noise }) => noise)),
})
