import { HeldCredential, RenewingCredential } from '../../auth/credential-sources.ts'
import type { TemporaryCredential } from '../../auth/credentials/credential-command.ts'
import { environmentWithToken, type IdentitySource } from '../../auth/credentials/environment-credential.ts'
import { secretOf, type TokenSet } from '../../auth/credentials/stored-credential.ts'
import type { TransportOptions } from '../../auth/transport.ts'
import { readBaseUrl } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { once } from '../../system/once.ts'
import { commandLine } from '../command-line.ts'
import { noCredential } from '../credential/credential-in-use.ts'
import { CredentialStores } from '../credential/credential-stores.ts'
import { obtainFromCommand } from '../credential/obtain-from-command.ts'
import type { Output } from '../output/output.ts'
import type { BaseContext } from './base-context.ts'
import { type RemoteTarget, refuseIfReadOnly, type Target } from './target.ts'

type Transport = TransportOptions & { signal: AbortSignal }

export class Credentials {
  /** Where the credentials of the profiles are stored. */
  readonly stores: CredentialStores
  readonly #base: BaseContext
  readonly #target: () => Target
  readonly #transport: Transport

  constructor(base: BaseContext, target: () => Target, transport: Transport) {
    this.#base = base
    this.#target = target
    this.#transport = transport
    this.stores = new CredentialStores(() => base.configuration, base.directories, base.output)
  }

  /** The stored credential of the profile; undefined if none or another credential is used. */
  readonly signedIn = once((): RenewingCredential | undefined => {
    const to = this.#target()
    if (to.kind === 'local' || to.profile === undefined) return undefined
    if (to.fromEnvironment || to.identity || to.command !== undefined) return undefined
    const { directories, output, signal } = this.#base
    const transport = this.#transport
    const store = this.stores.ofProfile(to.profile)
    const owner = this.stores.ownerOf(to.profile, to.baseUrl)
    const onUnsaved = warnOfUnsaved(output, to.profile)
    return new RenewingCredential({
      owner,
      store,
      signal,
      clock: transport.clock,
      missing: () => noCredential(to),
      renew: async (held, rejected) => {
        const { renewTokens } = await import('../../auth/renew-tokens.ts')
        return renewTokens({ directories, owner, store, held, rejected, transport, onUnsaved })
      },
    })
  })

  /** The credential that this run obtains from a command or the CI; undefined if another one is used. */
  readonly held = once((): HeldCredential | undefined => {
    const to = this.#target()
    if (to.kind === 'local') return undefined
    const { identity, command, baseUrl, profile = '' } = to
    const { clock } = this.#base.host
    if (identity) {
      return new HeldCredential(async () => {
        const tokens = await this.exchangeIdentity(identity, baseUrl)
        return { ...tokens, secret: tokens.access_token }
      }, clock)
    }
    if (command === undefined) return undefined
    return new HeldCredential(() => obtainFromCommand(this.#base, command, profile), clock)
  })

  /** Exchanges the identity token of the CI job for an access token, which is stored nowhere. */
  async exchangeIdentity(source: IdentitySource, baseUrl: string): Promise<TokenSet> {
    const { env, options, resolvePath } = this.#base
    const { exchangeIdentity } = await import('../../auth/exchange-identity.ts')
    const audience = env['CHATCTL_OIDC_AUDIENCE'] || readBaseUrl(baseUrl).origin
    const scope = options.scope.value
    return exchangeIdentity({ ...this.#exchangeTarget(baseUrl), source, audience, scope, env, resolvePath })
  }

  /** The credential of this run, as it can be sent. @throws Failure `unauthorized` without one, `usage` */
  async usable(): Promise<TemporaryCredential> {
    const to = this.#demandRemote()
    if (to.fromEnvironment) return { ...to.fromEnvironment, kind: 'api_key' }
    const held = await this.held()?.usable()
    if (held) return held
    const stored = await this.signedIn()?.usable()
    if (stored) return { ...stored, secret: secretOf(stored) }
    throw noCredential(to)
  }

  /**
   * Exchanges that credential for an access token, which is stored nowhere. Every exchange happens here.
   * @param permissions empty for all
   * @param lifetime in ms
   * @returns with the environment of a program that is to have this token instead of the credential
   */
  async exchange(permissions: readonly string[], lifetime: number) {
    refuseIfReadOnly(this.#base.options, 'The token exchange')
    const { secret, expires_at: end } = await this.usable()
    // The new token lives no longer than the access token of a sign-in, which is renewed if a minute or more is missing.
    const needed = this.#transport.clock.now() + lifetime - 60_000
    const isShort = end !== undefined && Date.parse(end) < needed
    const signIn = await this.signedIn()?.usable(isShort ? secret : undefined)
    const to = this.#demandRemote()
    const { exchangeCredential } = await import('../../auth/exchange-credential.ts')
    const target = this.#exchangeTarget(to.baseUrl)
    const tokens = await exchangeCredential(signIn ?? secret, permissions, lifetime, target)
    return { tokens, env: environmentWithToken(this.#base.env, to, secret, tokens.access_token) }
  }

  #demandRemote(): RemoteTarget {
    const to = this.#target()
    if (to.kind === 'remote') return to
    throw new Failure('usage', 'The API key of the embedded service is valid only while a command runs', {
      hint: `Start the service with: chatctl service run. Then sign in with: ${commandLine('auth', 'login', '--base-url', 'http://127.0.0.1:8787')}`,
    })
  }

  #exchangeTarget(baseUrl: string) {
    const { auth_url: authUrl, token_url: tokenUrl, client_id: clientId } = this.#base.options
    const configured = { authUrl: authUrl.value, tokenUrl: tokenUrl.value, clientId: clientId.value }
    return { ...configured, baseUrl, transport: this.#transport }
  }
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
