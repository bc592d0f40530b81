import { type Storage, withCredentialLock } from '../../../auth/credentials/credential-store.ts'
import type { Context } from '../../../cli/context/context.ts'
import { ignoreUnreadable } from '../../../cli/credential/credential-stores.ts'
import {
  type Configuration,
  demandConfigurationDirectory,
  findInAnyCase,
  type Profile,
  signInKeys,
} from '../../../config/configuration-file.ts'
import { demandProfileName } from '../../../config/configuration-keys.ts'
import { readAddress } from '../../../config/option-values.ts'
import { isGiven, localProfile, profileNames } from '../../../config/resolve-options.ts'
import { readBaseUrl } from '../../../contract/base-url.ts'
import { Failure } from '../../../contract/failure.ts'

/** What signing in will change on this machine. */
export interface LoginPlan {
  connection: Connection
  storage: Storage
  /** Options of this run to store in the profile. */
  settings: Profile
  /** Whether no user signs in, so that no change of the user is confirmed. */
  isUnattended?: boolean
}

/**
 * @param insecure whether to store the credential in a file (default: as before)
 * @throws Failure `input_needed` or `usage` if the service is not clear
 */
export async function planLogin(context: Context, insecure: boolean | undefined): Promise<LoginPlan> {
  const connection = await chooseConnection(context)
  const {
    credentials: { stores },
    options,
  } = context
  const storage =
    insecure === undefined ? stores.ofProfile(connection.profile).storage : insecure ? 'file' : 'keychain'
  const said = signInKeys.filter((key) => isGiven(options[key]))
  const settings = Object.fromEntries(said.map((key) => [key, String(options[key].value)]))
  return { connection, storage, settings }
}

/**
 * Checks before the sign-in that a credential can be stored, and unlocks the keychain.
 * @throws Failure `unauthorized` if it cannot be stored
 */
export async function checkStorage(
  { directories, credentials: { stores }, signal }: Context,
  plan: LoginPlan,
): Promise<void> {
  const { profile, baseUrl } = plan.connection
  const owner = stores.ownerOf(profile, baseUrl)
  // The keychain first, so that a missing keychain leaves no new directory.
  const store = stores.of(plan.storage)
  await store.read(owner, signal).catch(ignoreUnreadable)
  await store.demandPlace?.(owner)
  demandConfigurationDirectory(directories)
  await withCredentialLock(directories, owner, signal, async () => {})
}

/** The profile to sign in, and its service. */
interface Connection {
  profile: string
  baseUrl: string
}

/**
 * The selected profile, or a new one that is named after the host.
 * @throws Failure `input_needed` without an address, `usage` for the embedded service or an invalid name
 */
async function chooseConnection({ options, configuration, prompter }: Context): Promise<Connection> {
  const named = options.profile.value
  if (named === localProfile) {
    throw new Failure('usage', 'The embedded service needs no sign-in', {
      hint: 'Sign in to another service with: chatctl auth login --profile NAME --base-url https://HOST',
    })
  }
  if (named !== undefined) demandProfileName(named, configuration)
  const question =
    named === undefined ? 'Base URL of the service:' : `Base URL of the service for "${named}":`
  const baseUrl = options.base_url.value ?? (await prompter.askText(question, '--base-url URL', readAddress))
  const profile = named ?? nameOf(baseUrl, configuration)
  demandProfileName(profile, configuration)
  return { profile, baseUrl }
}

function nameOf(baseUrl: string, configuration: Configuration): string {
  const { hostname, port } = readBaseUrl(baseUrl)
  const name = `${hostname.replaceAll(/[^\w.-]+/g, '')}${port && `-${port}`}`
  const existing = findInAnyCase(name, profileNames(configuration))
  if (existing !== undefined) {
    throw new Failure('usage', `Profile "${existing}" already exists, with another base URL`, {
      hint: 'Choose the profile to sign in with --profile NAME.',
    })
  }
  return name
}
