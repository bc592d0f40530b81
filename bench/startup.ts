import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BoundedFigure, cpuUntilExit, type Program, timeInTurn } from './measure.ts'

const binary = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const body = JSON.stringify({ data: [{ id: 'm', created: 0, object: 'model', owned_by: 'bench' }] })

const bare = 'node -e 0'
const send = 'chat send Hello'
const request = 'chat models --json'
const firstSend = 'chat send Hello, first run'
const firstRequest = 'chat models, first run'

/** Upper bounds of the ratios between two programs in the same rounds. */
const bounds: { of: string; to: string; most: number }[] = [
  { of: '--version', to: bare, most: 1.03 },
  { of: '--version', to: 'gh --version', most: 0.7 },
  { of: '--help', to: bare, most: 1.1 },
  { of: '--help', to: 'gh --help', most: 1 },
  { of: request, to: bare, most: 2.3 },
  { of: request, to: 'gh --version', most: 1.2 },
  { of: firstRequest, to: bare, most: 2.5 },
  { of: send, to: bare, most: 2.8 },
  { of: firstSend, to: bare, most: 4.5 },
]

/**
 * Measures the CPU time of whole processes relative to `node -e 0`, to gh if it is installed, and to a
 * script that makes the same request with `node:http`. Requires python3.
 */
export async function benchStartup(rounds: number): Promise<BoundedFigure[]> {
  const medians = await measure(rounds)
  process.stdout.write(
    `start-up, CPU time, median of ${rounds} rounds in turn, Node ${process.versions.node}\n`,
  )
  const ratio = (of: string, to: string): number =>
    (medians.get(of) ?? Number.NaN) / (medians.get(to) ?? Number.NaN)
  for (const [name, ms] of medians) {
    process.stdout.write(
      `${name.padEnd(26)} ${ms.toFixed(1).padStart(7)} ms  ${ratio(name, bare).toFixed(2)} of bare node\n`,
    )
  }
  return bounds
    .filter(({ to }) => medians.has(to))
    .map(({ of, to, most }) => ({ name: `${of}, of ${to}`, value: ratio(of, to), bound: { most } }))
}

/** Makes the request of `chat models`, and prints the response. */
const script = `require('node:http').get(process.argv[1] + '/v1/chat/models', {
  headers: { authorization: 'Bearer bench' },
}, (response) => response.pipe(process.stdout))`

async function measure(rounds: number): Promise<Map<string, number>> {
  const home = mkdtempSync(join(tmpdir(), 'chatctl-bench-'))
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { PATH: process.env['PATH'], HOME: home, CHATCTL_API_KEY: 'bench' }
  const node = (name: string, ...args: string[]): Program => ({ name, command: process.execPath, args, env })
  const chatctl = (name: string, ...args: string[]): Program => node(name, binary, ...args)
  const gh = (arg: string): Program => ({ name: `gh ${arg}`, command: 'gh', args: [arg], env })
  const models = ['chat', 'models', '--json', '--base-url', url]
  const hello = ['chat', 'send', 'Hello', '--profile', 'local']
  const programs = [
    node(bare, '-e', '0'),
    node('node:http', '-e', script, url),
    chatctl('--version', '--version'),
    chatctl('--help', '--help'),
    chatctl(request, ...models),
    chatctl(firstRequest, ...models),
    chatctl(send, ...hello),
    chatctl(firstSend, ...hello),
    ...(isInstalled('gh') ? [gh('--version'), gh('--help')] : []),
  ]
  const time = (program: Program): Promise<number> => {
    if (program.name !== firstRequest && program.name !== firstSend) return cpuUntilExit(program)
    return cpuUntilExit({ ...program, env: { ...env, HOME: mkdtempSync(join(home, 'new-')) } })
  }
  try {
    return await timeInTurn(programs, rounds, time)
  } finally {
    server.close()
    rmSync(home, { recursive: true, force: true })
  }
}

function isInstalled(command: string): boolean {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0
}
