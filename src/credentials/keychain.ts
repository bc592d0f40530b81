import { Failure } from '../contract/failure.ts'
import { type CredentialOwner, type CredentialStore, serviceOf } from './credential-store.ts'
import { keychainFailure } from './keychain-failure.ts'
import type { KeychainItem, KeychainRequest } from './keychain-items.ts'
import { parseStored, type StoredCredential, serialise } from './stored-credential.ts'

export interface KeychainOptions {
  /** Longest time, in ms, for one call: a dialog may wait for a person to unlock the keychain. */
  patience: number
  /** Called once when a call takes so long that a dialog may be open. */
  onWait: () => void
  /** Whether the system may ask a person for the keychain's sake; a locked one fails otherwise. It may unless said. */
  mayAsk?: boolean
  env: NodeJS.ProcessEnv
  /** Says that a call may not end by itself, with what ends it. @returns to be called when it has ended */
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
    const { hasDefaultCollection } = await import('./default-collection.ts')
    if ((await hasDefaultCollection(this.#options.env)) !== false) return
    throw keychainFailure(new Error('no result found'), itemOf(owner))
  }

  async read(owner: CredentialOwner, signal?: AbortSignal): Promise<StoredCredential | undefined> {
    // Only there a dialog may come with an item of a keychain that is open.
    if (process.platform === 'darwin' && this.#options.mayAsk === false) {
      throw keychainFailure(new Error('interaction is not allowed'), itemOf(owner))
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
    await this.#callApart({ ...this.#request('set', owner), value: serialise(credential) }, signal)
  }

  async delete(owner: CredentialOwner, signal?: AbortSignal): Promise<boolean> {
    return (await this.#callApart(this.#request('delete', owner), signal)) === true
  }

  /**
   * The Secret Service, asked for everything that it has for this origin: the one call of the
   * module that neither blocks this thread nor opens a dialog. Only where something is locked,
   * and a person may have to be asked, does another process ask again.
   */
  async #find(owner: CredentialOwner, signal: AbortSignal | undefined): Promise<string | null> {
    const found = await this.#inThisProcess(
      async () => {
        // Not `import()`: in the turns of the event loop that it takes, other parts would be loaded first.
        const module: typeof import('@napi-rs/keyring') = require('@napi-rs/keyring')
        return module.findCredentialsAsync(serviceOf(owner))
      },
      owner,
      signal,
    ).catch((failure: unknown) => {
      const isLocked = failure instanceof Failure && failure.code === 'keychain_locked'
      if (isLocked && this.#options.mayAsk !== false) return undefined
      throw failure
    })
    if (!found) return this.#get(owner, signal)
    const values = found.filter(({ account }) => account === owner.profile).map(({ password }) => password)
    if (values.length > 1) {
      throw keychainFailure(new Error(`matched by ${values.length} credentials`), itemOf(owner))
    }
    return values[0] ?? null
  }

  async #get(owner: CredentialOwner, signal: AbortSignal | undefined): Promise<string | null> {
    const request = this.#request('get', owner)
    if (process.platform === 'linux') return (await this.#callApart(request, signal)) as string | null
    const { callKeychain } = await import('./keychain-items.ts')
    return (await this.#inThisProcess(() => callKeychain(request), owner, signal)) as string | null
  }

  #request(operation: KeychainRequest['operation'], owner: CredentialOwner): KeychainRequest {
    return { operation, ...itemOf(owner) }
  }

  async #inThisProcess<T>(
    call: () => Promise<T>,
    owner: CredentialOwner,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const ended = this.#options.untilEnded()
    const running = call().finally(ended)
    return patiently(
      running.catch((error: unknown) => Promise.reject(keychainFailure(error, itemOf(owner)))),
      {
        ...this.#options,
        signal,
      },
    )
  }

  async #callApart(request: KeychainRequest, signal: AbortSignal | undefined) {
    const { callKeychainApart } = await import('./call-keychain-apart.ts')
    const call = callKeychainApart(request)
    const ended = this.#options.untilEnded(call.kill)
    try {
      return await patiently(call.answer, { ...this.#options, signal })
    } finally {
      call.kill()
      ended()
    }
  }
}

function itemOf(owner: CredentialOwner): KeychainItem {
  return { service: serviceOf(owner), account: owner.profile }
}

/** After this long, in ms, somebody should know what is being waited for. */
const silence = 2_000

interface Waiting {
  /** Milliseconds. */
  patience: number
  onWait: () => void
  signal: AbortSignal | undefined
}

/**
 * Waits for a call of the keychain, within bounds. What goes on after them goes on unheard.
 *
 * @throws Failure `unauthorized` with code `keychain_timeout`; else the signal's reason
 */
function patiently<T>(call: Promise<T>, { patience, onWait, signal }: Waiting): Promise<T> {
  return new Promise((resolve, reject) => {
    const notice = setTimeout(onWait, silence)
    const bound = setTimeout(() => end(() => reject(timedOut(patience))), patience)
    const onAbort = (): void => end(() => reject(signal?.reason))
    const end = (settle: () => void): void => {
      clearTimeout(notice)
      clearTimeout(bound)
      signal?.removeEventListener('abort', onAbort)
      settle()
    }
    call.then(
      (value) => end(() => resolve(value)),
      (error) => end(() => reject(error)),
    )
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
  })
}

function timedOut(patience: number): Failure {
  return new Failure('unauthorized', `The keychain did not respond within ${patience / 1_000} s`, {
    code: 'keychain_timeout',
    hint: 'Unlock or restart it, or set CHATCTL_API_KEY, which needs no keychain.',
  })
}
