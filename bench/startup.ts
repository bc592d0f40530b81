import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Program, timeInTurn } from './measure.ts'

const binary = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const models = JSON.stringify({ data: [{ id: 'm', created: 0, object: 'model', owned_by: 'bench' }] })

/** Whole processes against `node -e 0` of the same Node, and gh where it is installed. */
export async function benchStartup(rounds: number): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'chatctl-bench-'))
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(models)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { PATH: process.env['PATH'], HOME: home, CHATCTL_API_KEY: 'bench' }
  const chatctl = (name: string, ...args: string[]): Program => ({
    name,
    command: process.execPath,
    args: [binary, ...args],
    env,
  })
  const programs = [
    { name: 'node -e 0', command: process.execPath, args: ['-e', '0'], env },
    chatctl('--version', '--version'),
    chatctl('--help', '--help'),
    chatctl('chat models --json', 'chat', 'models', '--json', '--base-url', url),
    ...(isInstalled('gh') ? [{ name: 'gh --version', command: 'gh', args: ['--version'], env }] : []),
  ]
  try {
    report(await timeInTurn(programs, rounds), rounds)
  } finally {
    server.close()
    rmSync(home, { recursive: true, force: true })
  }
}

function isInstalled(command: string): boolean {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0
}

function report(medians: Map<string, number>, rounds: number): void {
  const bare = medians.get('node -e 0') ?? Number.NaN
  process.stdout.write(`start-up, median of ${rounds} rounds in turn, Node ${process.versions.node}\n`)
  for (const [name, ms] of medians) {
    process.stdout.write(
      `${name.padEnd(20)} ${ms.toFixed(1).padStart(7)} ms  ${(ms / bare).toFixed(2)} of bare node\n`,
    )
  }
}
