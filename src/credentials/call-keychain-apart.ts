import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { keychainFailure } from './keychain-failure.ts'
import type { KeychainAnswer, KeychainItem, KeychainRequest } from './keychain-items.ts'

/** A call that another process makes. */
interface CallApart {
  /** Rejects with a `Failure`. */
  answer: Promise<KeychainAnswer>
  /** Ends it, whatever it is blocked by; harmless once it has ended. */
  kill(): void
}

export function callKeychainApart(request: KeychainRequest): CallApart {
  // In a process group of its own: Ctrl-C in a terminal reaches a whole group, and would break off
  // the writing of renewed tokens. We end it when its time is up, and when we end.
  const child = spawn(process.execPath, [join(__dirname, 'keychain-process.cjs')], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
  })
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(request))
  return { answer: readAnswer(child, request), kill: () => child.kill('SIGKILL') }
}

async function readAnswer(child: ReturnType<typeof spawn>, item: KeychainItem): Promise<KeychainAnswer> {
  const failed = new Promise<never>((_, reject) => child.once('error', reject))
  try {
    const written = await Promise.race([child.stdout ? text(child.stdout) : '', failed])
    const { value, error } = JSON.parse(written || '{"error":"its process ended without an answer"}')
    if (error !== undefined) throw new Error(error)
    return value
  } catch (error) {
    throw keychainFailure(error, item)
  }
}
