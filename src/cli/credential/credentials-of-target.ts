import type { IdentitySource } from '../../auth/credentials/identity-source.ts'
import { HeldCredential } from '../../auth/held-credential.ts'
import { RenewingCredential } from '../../auth/renewing-credential.ts'
import { readBaseUrl } from '../../contract/base-url.ts'
import type { Failure } from '../../contract/failure.ts'
import { commandLine } from '../command-line.ts'
import type { Context } from '../context/context.ts'
import type { Target } from '../context/target.ts'
import type { Output } from '../output/output.ts'
import { noCredential } from './credential-in-use.ts'
import { obtainFromCommand } from './obtain-from-command.ts'

/** The credential that this run obtains from the CI or from a command; undefined if the target has another one. */
export function heldCredentialOf(context: Context): HeldCredential | undefined {
  const to = context.target()
  if (to.kind === 'local') return undefined
  const { identity, command, baseUrl, profile = '' } = to
  const { clock } = context.host
  if (identity) {
    return new HeldCredential(async () => {
      const tokens = await context.exchangeIdentity(identity, baseUrl)
      return { ...tokens, secret: tokens.access_token }
    }, clock)
  }
  if (command === undefined) return undefined
  return new HeldCredential(() => obtainFromCommand(context, command, profile), clock)
}

/** What an exchange of the identity token needs. */
export function exchangeOptions(
  { env, options, resolvePath, transport }: Context,
  source: IdentitySource,
  baseUrl: string,
) {
  return {
    source,
    baseUrl,
    audience: env['CHATCTL_OIDC_AUDIENCE'] || readBaseUrl(baseUrl).origin,
    env,
    resolvePath,
    transport,
    authUrl: options.auth_url.value,
    tokenUrl: options.token_url.value,
    clientId: options.client_id.value,
    scope: options.scope.value,
  }
}

/** The stored credential of the profile; undefined if another one is used. */
export function renewingCredentialOf(context: Context): RenewingCredential | undefined {
  const { stores, directories, output, signal, transport } = context
  const to = context.target()
  if (to.kind === 'local' || to.profile === undefined || isOtherInUse(to)) return undefined
  const store = stores.ofProfile(to.profile)
  const owner = stores.ownerOf(to.profile, to.baseUrl)
  const onUnsaved = warnOfUnsaved(output, to.profile)
  return new RenewingCredential({
    owner,
    store,
    signal,
    clock: transport.clock,
    missing: () => noCredential(to),
    renew: (held, rejected) =>
      context.renewTokens({ directories, owner, store, held, rejected, transport, onUnsaved }),
  })
}

function isOtherInUse({ fromEnvironment, identity, command }: Extract<Target, { kind: 'remote' }>): boolean {
  return fromEnvironment !== undefined || identity !== undefined || command !== undefined
}

/** Says what renewed tokens that cannot be stored mean for the next command; this one has them. */
export function warnOfUnsaved(output: Output, profile: string | undefined) {
  return ({ message }: Failure, isSpent: boolean): Promise<void> =>
    output.warn(
      isSpent
        ? `The renewed sign-in could not be stored: ${message}. It may stay valid at the server until it expires. Sign in again with: ${commandLine('auth', 'login', '--profile', profile ?? '')}`
        : `The renewed token could not be stored: ${message}. The next command renews it again`,
    )
}
