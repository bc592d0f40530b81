import type { Advice } from '../contract/advice.ts'
import { Failure, type Help } from '../contract/failure.ts'
import type { Directories } from '../system/files/directories.ts'
import {
  type CredentialOwner,
  type CredentialStore,
  withCredentialLock,
} from './credentials/credential-store.ts'
import {
  isAlive,
  isFresh,
  type StoredCredential,
  secretOf,
  type TokenSet,
} from './credentials/stored-credential.ts'
import { refreshTokens } from './token-endpoint.ts'
import { createTransport, type TransportOptions } from './transport.ts'

interface Renewal {
  directories: Directories
  owner: CredentialOwner
  store: CredentialStore
  /** The last credential of this process. Newer than the stored one if it could not be stored. */
  held: StoredCredential
  /** An access token for which the service has returned 401. */
  rejected: string | undefined
  /** A scope within that of the sign-in, for this renewal and those after it (default: as before). */
  scope?: string | undefined
  transport: TransportOptions
  /**
   * Called if the new tokens could not be stored. This run continues.
   * @param isSpent whether the stored refresh token is replaced, so that only signing in again helps
   */
  onUnsaved: (failure: Failure, isSpent: boolean) => Promise<void>
}

/**
 * Replaces a credential that has expired or was rejected: by one that another process has stored in the meantime,
 * or else by a new one from the token endpoint. Runs under a lock of the user, because a refresh token that is used
 * twice ends the sign-in (RFC 9700 section 4.14.2).
 * @throws Failure `unauthorized` if the user must sign in again
 */
export async function renewTokens(renewal: Renewal): Promise<StoredCredential> {
  const { directories, owner, transport } = renewal
  return withCredentialLock(directories, owner, transport.signal, async () => {
    const stored = newer(await read(renewal), renewal.held)
    return isUsable(stored, renewal) ? stored : refresh(stored, renewal)
  })
}

async function read({ owner, store, transport }: Renewal): Promise<StoredCredential> {
  const stored = await store.read(owner, transport.signal)
  if (stored) return stored
  throw signedOut(owner, 'was ended by another chatctl process')
}

function newer(stored: StoredCredential, held: StoredCredential): StoredCredential {
  if (stored.kind !== 'oauth' || held.kind !== 'oauth') return stored
  return (held.obtained_at ?? '') > (stored.obtained_at ?? '') ? held : stored
}

function isUsable(credential: StoredCredential, { rejected, scope, transport }: Renewal): boolean {
  // Another process may have renewed it with another scope.
  if (secretOf(credential) === rejected || scope !== undefined) return false
  return credential.kind === 'api_key' || isFresh(credential, transport.clock.now())
}

async function refresh(stored: StoredCredential, renewal: Renewal): Promise<StoredCredential> {
  const { owner, rejected, scope } = renewal
  const { clock } = renewal.transport
  if (stored.kind === 'api_key') return stored
  if (stored.refresh_token === undefined) {
    if (isAlive(stored, clock.now())) return stored
    throw signedOut(owner, 'has expired')
  }
  try {
    return await refreshAndKeep(stored, stored.refresh_token, renewal)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    // RFC 6749 section 5.2: the refresh token is still valid.
    if (error.code === 'invalid_scope') throw error.reworded(error.message, signInAgain(owner, scope))
    // A token with another scope is not what the user needs.
    const works = scope === undefined && stored.access_token !== rejected && isAlive(stored, clock.now())
    // The access token is valid for at most another minute, which may be sufficient.
    if (works) return stored
    if (error.kind === 'unauthorized') throw signedOut(owner, `has ended. ${error.message}`, error)
    if (error.kind !== 'invalid_response') throw error
    // The address of the token endpoint is part of the sign-in.
    const { hint, advice } = error
    const again: Advice = { code: 'find_token_endpoint_again', profile: owner.profile }
    throw error.reworded(error.message, { hint, advice: [...advice, again] })
  }
}

async function refreshAndKeep(stored: TokenSet, refreshToken: string, renewal: Renewal): Promise<TokenSet> {
  // The old refresh token is used up as soon as it is sent, so the first Ctrl-C must not prevent storing the new
  // one.
  const transport = { ...renewal.transport, signal: undefined }
  const scope = renewal.scope ?? stored.narrowed_scope
  const narrowed = scope === undefined ? stored : { ...stored, scope, narrowed_scope: scope }
  const renewed = await refreshTokens(narrowed, refreshToken, createTransport(transport), transport.clock)
  try {
    await renewal.store.write(renewal.owner, renewed)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    await renewal.onUnsaved(error, renewed.refresh_token !== refreshToken)
  }
  renewal.transport.signal?.throwIfAborted()
  return renewed
}

function signedOut(owner: CredentialOwner, why: string, cause?: Failure): Failure {
  const { origin, profile } = owner
  return new Failure('unauthorized', `The sign-in of profile "${profile}" to ${origin} ${why}`, {
    code: 'signed_out',
    ...signInAgain(owner),
    cause,
  })
}

function signInAgain({ profile }: CredentialOwner, scope?: string): Help {
  return { advice: [{ code: 'sign_in_again', profile, scope }] }
}
