import type { OutgoingRequest } from '../client/outgoing-request.ts'
import { localProfile, type Options } from '../config/resolve-options.ts'
import { Failure } from '../contract/failure.ts'
import type { Credential } from '../credentials/environment-credential.ts'
import type { Streams } from './output/streams.ts'

/** Where requests go. */
export type Target =
  | {
      kind: 'remote'
      baseUrl: string
      profile: string | undefined
      /** Whether the address is the profile's own. */
      isOfProfile: boolean
      fromEnvironment: Credential | undefined
    }
  /** `named` where the profile said so, rather than nothing saying anything. */
  | { kind: 'local'; named: boolean }

/**
 * An address from a flag, the environment or a profile is a service elsewhere; none is the embedded
 * one, unless a key says that somewhere else was meant.
 */
export function chooseTarget(options: Options, readCredential: () => Credential | undefined): Target {
  const baseUrl = options.base_url.value
  const profile = options.profile.value
  if (profile === localProfile) {
    if (!baseUrl) return { kind: 'local', named: true }
    throw new Failure(
      'usage',
      `${options.profile.from} names the embedded service, ${options.base_url.from} another`,
      {
        hint: 'Leave one of them away.',
      },
    )
  }
  if (baseUrl) {
    const isOfProfile = options.base_url.source === 'profile'
    return { kind: 'remote', baseUrl, profile, isOfProfile, fromEnvironment: readCredential() }
  }
  if (profile !== undefined) {
    throw new Failure('usage', `Profile "${profile}" has no base URL`, {
      hint: `chatctl auth login --profile ${profile} --base-url https://…`,
    })
  }
  const credential = readCredential()
  if (credential) {
    throw new Failure('usage', `${credential.source} holds a key, but nothing says for which service`, {
      hint: 'Name it with --base-url URL or --profile NAME; --profile local is the embedded service.',
    })
  }
  return { kind: 'local', named: false }
}

/** A conversation may start anywhere; only settings and users are worth a guard. */
const chatPaths = /\/(v1|api)\/chat\//

/** Whether a request may change settings or users, or anything else that is no conversation. */
export function changesService({ method, path }: Pick<OutgoingRequest, 'method' | 'path'>): boolean {
  return method !== 'GET' && method !== 'HEAD' && !chatPaths.test(path)
}

/**
 * Off a terminal, changes reach the embedded service only where it was named: a CI job that forgot
 * its base URL must fail, not prove itself on a copy of its own.
 *
 * @throws Failure `usage`
 */
export function guardLocalChange(streams: Streams, target: Target, request: OutgoingRequest): void {
  if (changesService(request)) demandNamedService(streams, target)
}

/**
 * The same, for many changes before the first of them.
 *
 * @throws Failure `usage`
 */
export function demandNamedService({ isInteractive }: Streams, target: Target): void {
  if (target.kind === 'remote' || target.named || isInteractive) return
  throw new Failure('usage', 'No service was named, and this would change the embedded one on this machine', {
    hint: 'Name the service with --base-url URL or --profile NAME; --profile local if the embedded one is meant.',
  })
}

/**
 * What works on the data of this machine has no use for the address of a service: whoever gives one
 * means another.
 *
 * @throws Failure `usage`
 */
export function refuseOtherService({ base_url: baseUrl, profile }: Options): void {
  const isOther = profile.source === 'flag' && profile.value !== localProfile
  const given = baseUrl.source === 'flag' ? baseUrl : isOther ? profile : undefined
  if (!given) return
  throw new Failure('usage', `This works on data of this machine, and ${given.from} names a service`, {
    hint: 'Leave it away; --data DIR or --database URL says which data.',
  })
}
