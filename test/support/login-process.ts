import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  collectOutput,
  type HostOptions,
  type ProcessOptions,
  type Run,
  startBuilt,
  startChatctl,
} from './run-chatctl.ts'
import type { Sandbox } from './sandbox.ts'

export interface Login {
  interrupt(signal: 'SIGINT' | 'SIGTERM'): void
  /** The last address for the browser, when stderr contains one. */
  address(): Promise<URL>
  paste(line: string): void
  stderr(): string
  ended: Promise<Run>
}

export interface BuiltLogin extends Login {
  child: ChildProcess
}

/** Starts `auth login` in this process, and keeps stdin open unless `stdin` is given. */
export function startLogin(sandbox: Sandbox, args: readonly string[], options: HostOptions = {}): Login {
  const running = startChatctl(sandbox, ['auth', 'login', ...args], options)
  if (options.stdin !== undefined) running.stdin.end(options.stdin)
  return follow({ ...running, stderr: () => running.written().stderr, input: running.stdin })
}

/** Starts `auth login` with the built program, in a separate process. */
export function startBuiltLogin(
  sandbox: Sandbox,
  args: readonly string[],
  options: ProcessOptions = {},
): BuiltLogin {
  const child = startBuilt(sandbox, ['auth', 'login', ...args], options)
  const run = collectOutput(child)
  child.stdin?.on('error', () => {})
  if (options.stdin !== undefined) child.stdin?.end(options.stdin)
  const timer = setTimeout(() => child.kill('SIGKILL'), options.timeout ?? 20_000)
  const ended = new Promise<Run>((resolve) => {
    child.once('close', (exitCode) => {
      clearTimeout(timer)
      resolve({ ...run, exitCode })
    })
  })
  const interrupt: Login['interrupt'] = (signal) => void child.kill(signal)
  return { ...follow({ interrupt, ended, stderr: () => run.stderr, input: child.stdin }), child }
}

function follow({
  interrupt,
  ended,
  stderr,
  input,
}: Pick<Login, 'interrupt' | 'ended' | 'stderr'> & { input: Writable | null }): Login {
  let isOver = false
  const over = () => {
    isOver = true
  }
  ended.then(over, over)
  return {
    interrupt,
    ended,
    stderr,
    address: async () => {
      for (;;) {
        const address = findAddress(stderr())
        if (address !== undefined) return new URL(address)
        if (isOver) throw new Error(`it ended without an address: ${stderr()}`)
        await sleep(10)
      }
    },
    paste: (line) => input?.write(`${line}\n`),
  }
}

/** Matches only a complete line, because a part of a line may have arrived. */
function findAddress(stderr: string): string | undefined {
  const plain = [...stderr.matchAll(/^To sign in, open this URL:\r?\n(.+)\r?\n/gm)].at(-1)?.[1]
  if (plain !== undefined) return plain
  const notices = [...stderr.matchAll(/^(\{"notice":.+\})\n/gm)].map(
    ([, line = '']) => JSON.parse(line).notice,
  )
  return notices.findLast(({ url }) => url !== undefined)?.url
}

/** A browser that only records the address to open. */
export interface FakeBrowser {
  env: { BROWSER: string }
  /** Resolves to the address when it is opened. */
  opened(): Promise<string>
  wasOpened(): boolean
}

/**
 * Writes the program of the browser into the sandbox.
 *
 * @param life milliseconds until its process ends, because a newly started browser does not end immediately
 */
export function createFakeBrowser({ home }: Sandbox, life = 0): FakeBrowser {
  const program = join(home, 'browser')
  const record = `${program}.opened`
  const code = `for address; do :; done
printf %s "$address" > '${record}.part'
mv '${record}.part' '${record}'
sleep ${life / 1000}`
  writeFileSync(program, `#!/bin/sh\n${code}\n`, { mode: 0o755 })
  return {
    env: { BROWSER: program },
    wasOpened: () => existsSync(record),
    opened: async () => {
      for (let waited = 0; waited < 10_000; waited += 20) {
        if (existsSync(record)) return readFileSync(record, 'utf8')
        await sleep(20)
      }
      throw new Error('the browser was not opened')
    },
  }
}
