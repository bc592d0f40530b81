import { mayShareGrant, type StoredCredential, type TokenSet } from '../../credentials/stored-credential.ts'
import { isAlive } from '../../credentials/token-life.ts'
import { Failure } from '../../failure.ts'
import type { Context } from '../create-context.ts'
import { ownerOf } from './credential-stores.ts'

/** Milliseconds for a revocation that nobody has asked for by name. */
const maximumWait = 10_000

/** Revokes tokens, as far as the server says so; rejects with a `Failure` else. */
export type Revoke = (tokens: TokenSet, transport: Context['transport']) => Promise<void>

/** The tokens of a sign-in that chatctl does not use any more, and nobody has signed out of. */
export interface DroppedSignIn {
  profile: string
  tokens: TokenSet
  /** For the beginning of a sentence: `The earlier sign-in`. */
  subject: string
}

/**
 * Revokes dropped tokens where that cannot end a sign-in that is in use; else says what may stay
 * valid.
 *
 * @param kept what is in use from now on, beside the stored credentials of all profiles
 */
export async function endDroppedSignIn(
  context: Context,
  { profile, tokens, subject }: DroppedSignIn,
  revoke: Revoke,
  kept?: StoredCredential,
): Promise<void> {
  const { output, transport, signal } = context
  if (tokens.refresh_token === undefined && !isAlive(tokens, Date.now())) return
  const server = tokens.issuer ?? new URL(tokens.token_endpoint).origin
  const stays = `${subject} may stay valid at ${server} until it expires`
  if (tokens.revocation_endpoint === undefined) {
    return output.notice(`${stays}: the server names no address to revoke it at.`)
  }
  const inUse = tokens.grant_per_sign_in ? [] : await readSignIns(context, tokens.client_id)
  if (kept?.kind === 'oauth') inUse.push(kept)
  if (inUse.some((other) => mayShareGrant(tokens, other))) {
    return output.notice(
      `${stays}: revoking it could end another sign-in that is in use. Next time, sign out first: chatctl auth logout --profile ${profile}`,
    )
  }
  try {
    const timeout = Math.min(transport.timeout ?? maximumWait, maximumWait)
    // After Ctrl-C too: nobody else has these tokens.
    const own = signal.aborted ? new AbortController().signal : signal
    await revoke(tokens, { ...transport, timeout, retries: 0, signal: own })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    await output.warn(`${stays}: ${error.message}`)
  }
}

/** The sign-ins that are stored for profiles of one client. What cannot be read cannot be used either. */
async function readSignIns(
  { configuration, stores, signal }: Context,
  clientId: string,
): Promise<TokenSet[]> {
  const found: TokenSet[] = []
  const places = Object.entries(configuration.profiles ?? {})
    .filter(([, profile]) => profile.client_id === clientId)
    .flatMap(([name]) => stores.placesOf(name))
  for (const { profile, baseUrl, storage } of places) {
    try {
      const owner = ownerOf(profile, baseUrl)
      const stored = await stores.of(storage).read(owner, signal.aborted ? undefined : signal)
      if (stored?.kind === 'oauth') found.push(stored)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
    }
  }
  return found
}
