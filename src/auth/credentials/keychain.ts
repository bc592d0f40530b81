import { Failure } from '../../contract/failure.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import type { KeychainProgram } from './call-keychain-apart.ts'
import { type CredentialOwner, type CredentialStore, serviceAttributeOf } from './credential-store.ts'
import { failureOfCall, keychainFailure } from './keychain-failure.ts'
import type { KeychainItem, KeychainRequest } from './keychain-items.ts'
import { parseStored, type StoredCredential } from './stored-credential.ts'

export interface KeychainOptions {
  /** Timeout of one call, in ms. It is long, because the user may have to unlock the keychain. */
  timeout: number
  /** Called once if a call takes so long that a dialog may be open. */
  onWait: () => void
  /** Whether the system may open a dialog (default: true). If not, a locked keychain is an error. */
  mayAsk?: boolean
  env: NodeJS.ProcessEnv
  childProcess: KeychainProgram
  /** Registers a call that may not end by itself, and how to stop it. @returns the function to call at its end */
  untilEnded(stop?: () => void): () => void
}

/** The keychain of the operating system: Secret Service, Keychain or Credential Manager. */
export class Keychain implements CredentialStore {
  readonly storage = 'keychain'
  readonly #options: KeychainOptions

  constructor(options: KeychainOptions) {
    this.#options = options
  }

  async demandPlace(owner: CredentialOwner): Promise<void> {
    if (process.platform !== 'linux') return
    const { hasDefaultCollection } = await import('./call-keychain-apart.ts')
    if ((await hasDefaultCollection(this.#options.env)) !== false) return
    throw keychainFailure('keychain_without_collection', itemOf(owner))
  }

  async read(owner: CredentialOwner, signal?: AbortSignal): Promise<StoredCredential | undefined> {
    // Only macOS may open a dialog for an item of an unlocked keychain.
    if (process.platform === 'darwin' && this.#options.mayAsk === false) {
      throw keychainFailure('keychain_locked', itemOf(owner))
    }
    const text =
      process.platform === 'linux' ? await this.#find(owner, signal) : await this.#get(owner, signal)
    if (text === null) return undefined
    try {
      return parseStored(text)
    } catch (cause) {
      const item = `The keychain item for profile "${owner.profile}" and ${owner.origin}`
      throw new Failure('unauthorized', `${item} ${(cause as Error).message}`, {
        code: 'keychain_unreadable',
        advice: [{ code: 'replace_credential', profile: owner.profile }],
        cause,
      })
    }
  }

  async write(owner: CredentialOwner, credential: StoredCredential, signal?: AbortSignal): Promise<void> {
    await this.#callApart({ operation: 'set', ...itemOf(owner), value: JSON.stringify(credential) }, signal)
  }

  async delete(owner: CredentialOwner, signal?: AbortSignal): Promise<boolean> {
    return (await this.#callApart({ operation: 'delete', ...itemOf(owner) }, signal)) === true
  }

  /**
   * Reads all items of the origin from the Secret Service. Only this function of the module neither blocks
   * the thread nor opens a dialog. If an item is locked, a child process makes a call that may open one.
   */
  async #find(owner: CredentialOwner, signal: AbortSignal | undefined): Promise<string | null> {
    const found = await this.#inThisProcess(
      async () => {
        // Not `import()`, which takes several event loop turns, in which other modules would be loaded first.
        const module: typeof import('@napi-rs/keyring') = require('@napi-rs/keyring')
        return module.findCredentialsAsync(serviceAttributeOf(owner))
      },
      owner,
      signal,
    ).catch((failure: unknown) => {
      const isLocked = failure instanceof Failure && failure.code === 'keychain_locked'
      if (isLocked && this.#options.mayAsk !== false) return undefined
      throw failure
    })
    if (!found) return this.#get(owner, signal)
    const values = found.filter(({ account }) => account === owner.id).map(({ password }) => password)
    if (values.length > 1) throw keychainFailure('keychain_ambiguous', itemOf(owner))
    if (values[0] !== undefined) return values[0]
    const { hidesItems } = await import('./call-keychain-apart.ts')
    if (await hidesItems(this.#options.env)) throw keychainFailure('keychain_locked', itemOf(owner))
    return null
  }

  async #get(owner: CredentialOwner, signal: AbortSignal | undefined): Promise<string | null> {
    const request: KeychainRequest = { operation: 'get', ...itemOf(owner) }
    if (process.platform === 'linux') return (await this.#callApart(request, signal)) as string | null
    const { callKeychain } = await import('./keychain-items.ts')
    return (await this.#inThisProcess(() => callKeychain(request), owner, signal)) as string | null
  }

  async #inThisProcess<T>(
    call: () => Promise<T>,
    owner: CredentialOwner,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const ended = this.#options.untilEnded()
    const running = call().finally(ended)
    return patiently(
      running.catch((error: unknown) => Promise.reject(failureOfCall(error, itemOf(owner)))),
      {
        ...this.#options,
        signal,
      },
    )
  }

  async #callApart(request: KeychainRequest, signal: AbortSignal | undefined) {
    const { callKeychainApart } = await import('./call-keychain-apart.ts')
    const { childProcess, env } = this.#options
    const call = callKeychainApart(request, { ...childProcess, env: { ...env, ...childProcess.env } })
    const ended = this.#options.untilEnded(call.kill)
    try {
      return await patiently(call.result, { ...this.#options, signal })
    } finally {
      call.kill()
      ended()
    }
  }
}

function itemOf(owner: CredentialOwner): KeychainItem {
  return { service: serviceAttributeOf(owner), account: owner.id }
}

/** After this time, in ms, the user is told what chatctl waits for. */
const silence = 2_000

interface WaitOptions {
  /** In ms. */
  timeout: number
  onWait: () => void
  signal: AbortSignal | undefined
}

/**
 * Waits for a keychain call, with a timeout. The call itself continues after it.
 * @throws Failure `unauthorized` with code `keychain_timeout`; else the signal's reason
 */
async function patiently<T>(call: Promise<T>, { timeout, onWait, signal }: WaitOptions): Promise<T> {
  const ended = new AbortController()
  const notice = setTimeout(onWait, silence)
  const bound = setTimeout(() => ended.abort(timedOut(timeout)), timeout)
  try {
    return await unlessAborted(call, signal ? AbortSignal.any([signal, ended.signal]) : ended.signal)
  } finally {
    clearTimeout(notice)
    clearTimeout(bound)
  }
}

function timedOut(timeout: number): Failure {
  return new Failure('unauthorized', `The keychain did not respond within ${timeout / 1_000} s`, {
    code: 'keychain_timeout',
    hint: 'Unlock or restart it, or set CHATCTL_API_KEY, which needs no keychain.',
  })
}
