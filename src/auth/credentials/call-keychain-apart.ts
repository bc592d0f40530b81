import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { keychainFailure } from './keychain-failure.ts'
import type { KeychainItem, KeychainRequest, KeychainResult } from './keychain-items.ts'

/** How to start `boot/keychain-process.ts`. `env` is for this process alone. */
export interface KeychainProgram {
  command: string
  args: readonly string[]
  env: NodeJS.ProcessEnv
}

/** A keychain call in a child process. */
interface CallApart {
  /** Rejects with a `Failure`. */
  result: Promise<KeychainResult>
  /** Ends the process, even if it is blocked. Has no effect after its end. */
  kill(): void
}

export function callKeychainApart(
  request: KeychainRequest,
  { command, args, env }: KeychainProgram,
): CallApart {
  // Detached, in a separate process group: Ctrl-C in a terminal signals the whole group, and would
  // interrupt the writing of renewed tokens. The parent ends it at the timeout and on exit.
  const child = spawn(command, args, {
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
  })
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(request))
  return { result: readResult(child, request), kill: () => child.kill('SIGKILL') }
}

async function readResult(child: ReturnType<typeof spawn>, item: KeychainItem): Promise<KeychainResult> {
  const failed = new Promise<never>((_, reject) => child.once('error', reject))
  try {
    const written = await Promise.race([child.stdout ? text(child.stdout) : '', failed])
    const { value, error } = JSON.parse(written || '{"error":"its process ended without a result"}')
    if (error !== undefined) throw new Error(error)
    return value
  } catch (error) {
    throw keychainFailure(error, item)
  }
}
