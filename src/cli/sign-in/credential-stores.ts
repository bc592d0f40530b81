import type { Configuration } from '../../config/configuration-file.ts'
import { readBaseUrl } from '../../contract/base-url.ts'
import type { CredentialOwner, CredentialStore, Storage } from '../../credentials/credential-store.ts'
import { InsecureFile } from '../../credentials/insecure-file.ts'
import { Keychain } from '../../credentials/keychain.ts'
import { Failure } from '../../failure.ts'
import { once } from '../once.ts'
import type { Output } from '../output/output.ts'
import { isInteractive } from '../output/streams.ts'

/** How long, in ms, a keychain may take: a person needs time for the dialog that unlocks it. */
const patience = { withPerson: 30_000, alone: 10_000 }

/** Where the credentials of this configuration's profiles are kept. */
export class CredentialStores {
  readonly #configuration: () => Configuration
  readonly #keychain: Keychain
  readonly #file = new InsecureFile()

  constructor(configuration: () => Configuration, output: Output) {
    this.#configuration = configuration
    const sayOnce = once(() => output.notice('Waiting for the keychain; it may be asking to be unlocked…'))
    this.#keychain = new Keychain({
      patience: isInteractive() ? patience.withPerson : patience.alone,
      onWait: sayOnce,
    })
  }

  of(storage: Storage): CredentialStore {
    return storage === 'file' ? this.#file : this.#keychain
  }

  /** The file only where somebody signed in with `--insecure-storage`. */
  ofProfile(profile: string): CredentialStore {
    const { profiles = {} } = this.#configuration()
    return this.of((Object.hasOwn(profiles, profile) && profiles[profile]?.storage) || 'keychain')
  }
}

/** For what is about to be replaced: it need not be understood. */
export function unreadableAsNothing(error: unknown): undefined {
  if (!(error instanceof Failure) || !error.code.endsWith('_unreadable')) throw error
}

/** @throws Failure `refused` where the profile's address is none */
export function ownerOf(profile: string, baseUrl: string): CredentialOwner {
  return { profile, origin: readBaseUrl(baseUrl, `base URL of profile "${profile}"`).origin }
}
