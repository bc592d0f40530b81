import {
  type Configuration,
  demandConfigurationDirectory,
  type Profile,
  signInKeys,
} from '../../config/configuration-file.ts'
import { demandProfileName } from '../../config/configuration-keys.ts'
import { localProfile, readAddress } from '../../config/resolve-options.ts'
import { readBaseUrl } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { withCredentialLock } from '../../credentials/credential-lock.ts'
import type { Storage } from '../../credentials/credential-store.ts'
import type { Context } from '../context.ts'
import { ignoreUnreadable, ownerOf } from './credential-stores.ts'

/** What signing in will change on this machine. */
export interface LoginPlan {
  connection: Connection
  storage: Storage
  /** What was said in this run, and the profile is to know from now on. */
  settings: Profile
}

/**
 * @param insecure whether to keep the credential in a file; where nothing is said, as the last time
 * @throws Failure `input_needed` or `usage` where it is not clear what is meant
 */
export async function planLogin(context: Context, insecure: boolean | undefined): Promise<LoginPlan> {
  const connection = await chooseConnection(context)
  const { stores, options } = context
  const storage =
    insecure === undefined ? stores.ofProfile(connection.profile).storage : insecure ? 'file' : 'keychain'
  const said = signInKeys.filter((key) => ['flag', 'environment'].includes(options[key].source))
  const settings = Object.fromEntries(said.map((key) => [key, String(options[key].value)]))
  return { connection, storage, settings }
}

/**
 * Finds out whether a credential can be kept, and has the keychain unlocked: better before anybody
 * signs in than after.
 *
 * @throws Failure `unauthorized` where it cannot
 */
export async function checkStorage({ directories, stores, signal }: Context, plan: LoginPlan): Promise<void> {
  const { profile, baseUrl } = plan.connection
  const owner = ownerOf(profile, baseUrl)
  // The keychain first: where there is none, nothing is left behind on the way to saying so.
  const store = stores.of(plan.storage)
  await store.read(owner, signal).catch(ignoreUnreadable)
  await store.demandPlace?.(owner)
  demandConfigurationDirectory(directories)
  await withCredentialLock(directories, owner, signal, async () => {})
}

/** The profile that is signed in, and the service that it is of from then on. */
interface Connection {
  profile: string
  baseUrl: string
}

/**
 * The profile that was named or has this address already, else a new one that is named after the
 * host.
 *
 * @throws Failure `input_needed` where no address is known, `usage` for what cannot be signed in to
 */
async function chooseConnection({ options, configuration, prompter }: Context): Promise<Connection> {
  const named = options.profile.value
  if (named === localProfile) {
    throw new Failure('usage', 'The embedded service needs no sign-in', {
      hint: 'Sign in to another service with: chatctl auth login --profile NAME --base-url https://HOST',
    })
  }
  const question =
    named === undefined ? 'Base URL of the service:' : `Base URL of the service for "${named}":`
  const baseUrl = options.base_url.value ?? (await prompter.askText(question, '--base-url URL', readAddress))
  const profile = named ?? nameOf(baseUrl, configuration)
  demandProfileName(profile)
  return { profile, baseUrl }
}

function nameOf(baseUrl: string, { profiles = {} }: Configuration): string {
  const { hostname, port } = readBaseUrl(baseUrl)
  const name = `${hostname.replaceAll(/[^\w.-]+/g, '')}${port && `-${port}`}`
  if (Object.hasOwn(profiles, name) || name === localProfile) {
    throw new Failure('usage', `Profile "${name}" already exists, with another base URL`, {
      hint: 'Choose the profile to sign in with --profile NAME.',
    })
  }
  return name
}
