import type { Configuration } from '../../config/configuration-file.ts'
import { demandProfileName } from '../../config/configuration-keys.ts'
import { localProfile, readAddress } from '../../config/resolve-options.ts'
import { readBaseUrl } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import type { Context } from '../create-context.ts'

/** The profile that is signed in, and the service that it is of from then on. */
export interface Connection {
  profile: string
  baseUrl: string
}

/**
 * The profile that was named or has this address already, else a new one that is named after the
 * host.
 *
 * @throws Failure `input_needed` where no address is known, `usage` for what cannot be signed in to
 */
export async function chooseConnection({ options, configuration, prompter }: Context): Promise<Connection> {
  const named = options.profile.value
  if (named === localProfile) {
    throw new Failure('usage', 'The embedded service needs no sign-in', {
      hint: 'Sign in to another one: chatctl auth login --profile NAME --base-url https://…',
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
    throw new Failure('usage', `There is a profile "${name}" already, of another address`, {
      hint: 'Name the one to sign in with --profile NAME.',
    })
  }
  return name
}
