import {
  isAlive,
  mayShareGrant,
  type StoredCredential,
  type TokenSet,
} from '../../auth/credentials/stored-credential.ts'
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
}

/**
 * Revokes dropped tokens if that cannot end a sign-in that is in use. Otherwise says what may stay
 * valid.
 *
 * @param kept a credential that is in use now, in addition to those stored for all profiles
 */
export async function endDroppedSignIn(
  context: Context,
  { profile, tokens, subject }: DroppedSignIn,
  kept?: StoredCredential,
): Promise<void> {
  const { output, transport, signal } = context
  if (tokens.refresh_token === undefined && !isAlive(tokens, transport.clock.now())) return
  const server = tokens.issuer ?? new URL(tokens.token_endpoint).origin
  const stays = `${subject} may stay valid at ${server} until it expires`
  if (tokens.revocation_endpoint === undefined) {
    return output.notice(`${stays}, because the server has no revocation endpoint.`)
  }
  const inUse = tokens.grant_per_sign_in ? [] : await readSignIns(context, tokens.client_id)
  if (kept?.kind === 'oauth') inUse.push(kept)
  if (inUse.some((other) => mayShareGrant(tokens, other))) {
    return output.notice(
      `${stays}: revoking it could end another sign-in that is in use. Next time, sign out first: ${commandLine('auth', 'logout', '--profile', profile)}`,
    )
  }
  try {
    const timeout = Math.min(transport.timeout ?? maximumWait, maximumWait)
    // Ctrl-C does not stop this: the tokens are stored nowhere.
    const own = signal.aborted ? new AbortController().signal : signal
    const { revokeTokens } = await import('../../auth/token-endpoint.ts')
    await revokeTokens(tokens, { ...transport, timeout, retries: 0, signal: own })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    await output.warn(`${stays}: ${error.message}`)
  }
}

/** The sign-ins that are stored for profiles of one client. What cannot be read cannot be used either. */
async function readSignIns(
  { configuration, credentials: { stores }, signal }: Context,
  clientId: string,
): Promise<TokenSet[]> {
  const found: TokenSet[] = []
  const names = Object.entries(configuration.profiles ?? {})
    .filter(([, profile]) => profile.client_id === clientId)
    .map(([name]) => name)
  for (const profile of names) {
    const { baseUrl, storage = 'command' } = stores.placeOf(profile) ?? {}
    if (baseUrl === undefined || storage === 'command') continue
    try {
      const owner = stores.ownerOf(profile, baseUrl)
      const stored = await stores.of(storage).read(owner, signal.aborted ? undefined : signal)
      if (stored?.kind === 'oauth') found.push(stored)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
    }
  }
  return found
}
