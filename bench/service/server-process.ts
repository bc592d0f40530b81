import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { cpuOf } from '../measure.ts'

/** A server in a separate process, which prints its URL as a first line of JSON. */
export interface ServerProcess {
  url: string
  pid: number
  /** Time from process start to the first response with status 200, in ms. */
  firstAnswer: number
  /** CPU time of all threads so far, in ms. */
  cpu(): number
  /** Current memory in bytes. */
  rss(): number
  stop(): Promise<void>
}

/** @param path of the first request; @param headers of the first request */
export async function startServer(
  args: readonly string[],
  path: string,
  headers: Record<string, string> = {},
  env: NodeJS.ProcessEnv = process.env,
): Promise<ServerProcess> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const { url } = JSON.parse(await firstLine(child)) as { url: string }
  const response = await fetch(url + path, { headers })
  await response.arrayBuffer()
  const firstAnswer = performance.now() - startedAt
  if (response.status !== 200) throw new Error(`${path} was answered ${response.status}`)
  const pid = child.pid ?? 0
  return {
    url,
    pid,
    firstAnswer,
    cpu: () => cpuOf(pid),
    rss: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024,
    async stop() {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'close')
    },
  }
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk) => {
      text += chunk
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
    })
    child.once('error', reject)
    child.once('close', (code) => reject(new Error(`The server ended with ${code}`)))
  })
}
