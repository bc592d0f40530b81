import {
  type Credential,
  type IdentitySource,
  readEnvironmentCredential,
  readIdentitySource,
} from '../../auth/credentials/environment-credential.ts'
import { localProfile, type Options } from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import { quoteWord } from '../command-line.ts'
import type { Streams } from '../output/streams.ts'
import type { BaseContext } from './base-context.ts'

/** Where requests go. */
export type Target =
  | {
      kind: 'remote'
      baseUrl: string
      profile: string | undefined
      /** Whether the address is the profile's own. */
      isOfProfile: boolean
      fromEnvironment: Credential | undefined
      /** Of the CI job, if `CHATCTL_OIDC` is set and the environment has no API key. */
      identity: IdentitySource | undefined
      /** The credential command of the profile, if the environment has no credential. */
      command: string | undefined
    }
  /** `named` where the profile said so, rather than nothing saying anything. */
  | { kind: 'local'; named: boolean }

export type RemoteTarget = Extract<Target, { kind: 'remote' }>

/**
 * A base URL from a flag, the environment, or a profile selects a remote service. Without one it is the
 * embedded service, unless an API key shows that another was meant.
 * @throws Failure `usage`, or as `readEnvironmentCredential`
 */
export function chooseTarget(
  options: Options,
  { env, resolvePath }: Pick<BaseContext, 'env' | 'resolvePath'>,
): Target {
  const readCredential = () => readEnvironmentCredential(env, resolvePath)
  const baseUrl = options.base_url.value
  const profile = options.profile.value
  if (profile === localProfile) {
    if (!baseUrl) return { kind: 'local', named: true }
    throw new Failure(
      'usage',
      `${options.profile.from} selects the embedded service, but ${options.base_url.from} selects another`,
      { hint: 'Omit one of them.' },
    )
  }
  if (baseUrl) {
    const isOfProfile = options.base_url.source === 'profile'
    const fromEnvironment = readCredential()
    const identity = fromEnvironment ? undefined : readIdentitySource(env)
    const command = fromEnvironment || identity ? undefined : options.credential_command.value
    return { kind: 'remote', baseUrl, profile, isOfProfile, fromEnvironment, identity, command }
  }
  if (profile !== undefined) {
    throw new Failure('usage', `Profile "${profile}" has no base URL`, {
      hint: `Set it with: chatctl auth login --profile ${quoteWord(profile)} --base-url https://HOST`,
    })
  }
  const source = readCredential()?.source ?? (readIdentitySource(env) && 'CHATCTL_OIDC')
  if (source !== undefined) {
    throw new Failure('usage', `${source} is set, but no service is selected`, {
      hint: 'Select it with --base-url URL or --profile NAME. The embedded service is --profile local.',
    })
  }
  return { kind: 'local', named: false }
}

/**
 * In a non-interactive run, changes reach the embedded service only if it was selected: a CI job that
 * forgot its base URL must fail, instead of changing a local copy.
 * @throws Failure `usage`
 */
export function demandNamedService(streams: Streams, target: Target): void {
  if (target.kind === 'remote' || target.named || streams.isInteractive) return
  throw new Failure('usage', 'No service is selected, and this command would change the embedded service', {
    hint: 'Select the service with --base-url URL or --profile NAME. The embedded service is --profile local.',
  })
}

/** @throws Failure `usage` in read-only mode, without a hint, because only the user may turn it off */
export function refuseIfReadOnly({ read_only: { value, from } }: Options, what: string): void {
  if (value === 'off') return
  const code = 'read_only'
  throw new Failure('usage', `${what} is refused, because read-only mode is on (${from})`, { code })
}

/**
 * Refuses the address of a service for a command that works on local data, because its author means
 * another command.
 * @throws Failure `usage`
 */
export function refuseOtherService({ base_url: baseUrl, profile }: Options): void {
  const isOther = profile.source === 'flag' && profile.value !== localProfile
  const given = baseUrl.source === 'flag' ? baseUrl : isOther ? profile : undefined
  if (!given) return
  throw new Failure('usage', `This command works on local data, but ${given.from} selects a service`, {
    hint: 'Omit it. Select the data with --data DIR or --database URL.',
  })
}
