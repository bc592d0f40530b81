import { execFile, spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { failureOfCall } from './keychain-failure.ts'
import type { KeychainItem, KeychainRequest, KeychainResult } from './keychain-items.ts'

/** How to start `boot/keychain-process.ts`. `env` is for this process alone. */
export interface KeychainProgram {
  command: string
  args: readonly string[]
  env: NodeJS.ProcessEnv
}

/**
 * Makes a keychain call in a child process.
 * @returns `result` rejects with a `Failure`; `kill` ends the process, even if it is blocked
 */
export function callKeychainApart(request: KeychainRequest, { command, args, env }: KeychainProgram) {
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
    const { value, error, code } = JSON.parse(written || '{"error":"its process ended without a result"}')
    if (error !== undefined) throw Object.assign(new Error(error), { code })
    return value
  } catch (error) {
    throw failureOfCall(error, item)
  }
}

/** Timeout in ms. The Secret Service has just responded to another call. */
const timeout = 5_000

const secrets = ['org.freedesktop.secrets', '/org/freedesktop/secrets'] as const

/**
 * Whether the Secret Service has a default collection, in which it stores new items. On a machine without a
 * desktop session, the daemon may have none (docs/decisions/0006-keychain-calls.md). Never opens a dialog.
 * @returns undefined if busctl(1) does not tell
 */
export async function hasDefaultCollection(env: NodeJS.ProcessEnv): Promise<boolean | undefined> {
  const call = ['call', ...secrets, 'org.freedesktop.Secret.Service', 'ReadAlias', 's', 'default']
  const [, path] = /^o "(.*)"$/m.exec(await busctl(call, env)) ?? []
  // Secret Service specification, "ReadAlias": `/` means no collection.
  return path === undefined ? undefined : path !== '/'
}

/**
 * Whether the default collection is locked and does not say which items it has. A search in it finds
 * nothing, whether or not it has the item. gnome-keyring finds items of a locked collection;
 * KeePassXC does not, and refuses other questions about it, too. Never opens a dialog.
 */
export async function hidesItems(env: NodeJS.ProcessEnv): Promise<boolean> {
  const [name, root] = secrets
  const property = ['org.freedesktop.Secret.Collection', 'Locked', 'Created']
  // The second property has no line if the collection refuses the question.
  return (await busctl(['get-property', name, `${root}/aliases/default`, ...property], env)) === 'b true\n'
}

/** Its output on the session bus. Ignores errors, because the use of the keychain will report them. */
function busctl(words: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve) => {
    execFile('busctl', ['--user', ...words], { env, timeout, killSignal: 'SIGKILL' }, (_, stdout) =>
      resolve(stdout),
    )
  })
}
