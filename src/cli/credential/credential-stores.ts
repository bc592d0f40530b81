import type { CredentialOwner, CredentialStore, Storage } from '../../auth/credentials/credential-store.ts'
import { InsecureFile } from '../../auth/credentials/insecure-file.ts'
import type { StoredCredential } from '../../auth/credentials/stored-credential.ts'
import { type Configuration, type Profile, profileId } from '../../config/configuration-file.ts'
import { originOf, readBaseUrl } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import type { Directories } from '../../system/files/directories.ts'
import { once } from '../../system/once.ts'
import type { Output } from '../output/output.ts'

/** Maximum wait for the keychain in ms. A user needs time for the dialog that unlocks it. */
const timeouts = { interactive: 30_000, alone: 10_000 }

/** Where a profile has a credential. */
export interface CredentialPlace {
  profile: string
  /** Of the service that the credential is for, or only its origin. */
  baseUrl: string
  /** `command` for the credential command of the profile. */
  storage: Storage | 'command'
}

/** Where the credentials of this configuration's profiles are kept. */
export class CredentialStores {
  readonly #configuration: () => Configuration
  readonly #keychain: CredentialStore
  readonly #file: CredentialStore

  constructor(configuration: () => Configuration, directories: Directories, output: Output) {
    this.#configuration = configuration
    this.#file = new InsecureFile(directories)
    const { streams } = output
    const sayOnce = once(() => output.notice('Waiting for the keychain. It may show a prompt to unlock it…'))
    this.#keychain = streams.host.openKeychain({
      timeout: streams.isInteractive ? timeouts.interactive : timeouts.alone,
      onWait: sayOnce,
    })
  }

  of(storage: Storage): CredentialStore {
    return storage === 'file' ? this.#file : this.#keychain
  }

  /** The file if the profile was signed in with `--insecure-storage`, otherwise the keychain. */
  ofProfile(profile: string): CredentialStore {
    return this.of(this.#profile(profile).storage ?? 'keychain')
  }

  /** Where a profile has credentials. Its command is first, because it is used instead of a stored credential. */
  placesOf(profile: string): CredentialPlace[] {
    const { base_url: baseUrl, credential_command: command } = this.#profile(profile)
    const places: CredentialPlace[] = []
    if (command !== undefined && baseUrl !== undefined) places.push({ profile, baseUrl, storage: 'command' })
    const stored = this.storedPlaceOf(profile)
    if (stored) places.push(stored)
    return places
  }

  storedPlaceOf(profile: string): (CredentialPlace & { storage: Storage }) | undefined {
    const { credential } = this.#profile(profile)
    return credential && { profile, baseUrl: credential.origin, storage: credential.storage }
  }

  /** @throws Failure `refused` if the base URL is invalid */
  ownerOf(profile: string, baseUrl: string): CredentialOwner {
    return ownerOf(this.#configuration(), profile, baseUrl)
  }

  #profile(name: string): Profile {
    const { profiles = {} } = this.#configuration()
    return (Object.hasOwn(profiles, name) && profiles[name]) || {}
  }
}

/** For a credential that is about to be replaced, which may be unreadable. */
export function ignoreUnreadable(error: unknown): undefined {
  if (!(error instanceof Failure) || !error.code.endsWith('_unreadable')) throw error
}

/** Reads a credential that is about to be replaced or deleted. Warns if it cannot be read. */
export async function readToReplace(
  store: CredentialStore,
  owner: CredentialOwner,
  output: Output,
  signal: AbortSignal,
): Promise<StoredCredential | undefined> {
  try {
    return await store.read(owner, signal)
  } catch (error) {
    if (!(error instanceof Failure) || !/_(unreadable|unsafe)$/.test(error.code)) throw error
    await output.warn(`The stored credential could not be read, so it was not revoked: ${error.message}`)
    return undefined
  }
}

type Place = Pick<CredentialPlace, 'baseUrl' | 'storage'>

export function isSamePlace(one: Place, other: Place): boolean {
  return one.storage === other.storage && originOf(one.baseUrl) === originOf(other.baseUrl)
}

/** @throws Failure `refused` if the base URL is invalid */
export function ownerOf(configuration: Configuration, profile: string, baseUrl: string): CredentialOwner {
  const { origin } = readBaseUrl(baseUrl, `base URL of profile "${profile}"`)
  return { profile, origin, id: profileId(configuration, profile) }
}
