import {
  isAlive,
  mayShareGrant,
  type StoredCredential,
  type TokenSet,
} from '../../auth/credentials/stored-credential.ts'
import type { TransportOptions } from '../../auth/transport.ts'
import { commandLine } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { Failure } from '../../contract/failure.ts'

/** Milliseconds for a revocation that the user did not request. */
const maximumWait = 10_000

/** The tokens of a sign-in that chatctl no longer uses, although the user did not sign out. */
export interface DroppedSignIn {
  profile: string
  tokens: TokenSet
  /** For the beginning of a sentence: `The earlier sign-in`. */
  subject: string
  /** What the profile has instead; `unchanged` if its earlier credential is still in use. */
  now: StoredCredential | 'command' | 'unchanged'
}

/** Revokes dropped tokens if that cannot end a sign-in that is in use. Otherwise says what may stay valid. */
export async function endDroppedSignIn(
  context: Context,
  { profile, tokens, subject, now }: DroppedSignIn,
): Promise<void> {
  const { output, transport, configuration } = context
  if (tokens.refresh_token === undefined && !isAlive(tokens, transport.clock.now())) return
  const server = tokens.issuer ?? new URL(tokens.token_endpoint).origin
  const stays = `${subject} may stay valid at ${server} until it expires`
  if (tokens.revocation_endpoint === undefined) {
    return output.notice(`${stays}, because the server has no revocation endpoint.`)
  }
  const others = Object.entries(configuration.profiles ?? {}).filter(
    ([name, other]) =>
      (name !== profile || now === 'unchanged') && other.client_id === tokens.client_id && other.credential,
  )
  const sharesWithNew = typeof now === 'object' && now.kind === 'oauth' && mayShareGrant(tokens, now)
  if (sharesWithNew || (others.length > 0 && !tokens.grant_per_sign_in)) {
    return output.notice(
      `${stays}: revoking it could end another sign-in that is in use. Next time, sign out first: ${commandLine('auth', 'logout', '--profile', profile)}`,
    )
  }
  await revokeSoon(context, tokens, stays)
}

/** Revokes tokens that are stored nowhere, so no signal aborts it. A warning begins with `stays` if that fails. */
export async function revokeSoon(context: Context, tokens: TokenSet, stays: string): Promise<void> {
  const { transport } = context
  const timeout = Math.min(transport.timeout ?? maximumWait, maximumWait)
  await revokeOrWarn(context, tokens, stays, { ...transport, timeout, retries: 0, signal: undefined })
}

/** @returns whether the server has confirmed it; a warning begins with `stays` if not */
export async function revokeOrWarn(
  { output }: Context,
  tokens: TokenSet,
  stays: string,
  transport: TransportOptions,
): Promise<boolean> {
  const { revokeTokens } = await import('../../auth/token-endpoint.ts')
  try {
    await revokeTokens(tokens, transport)
    return true
  } catch (error) {
    await output.warn(`${stays}: ${(error as Error).message}`)
    if (!(error instanceof Failure)) throw error
    return false
  }
}
