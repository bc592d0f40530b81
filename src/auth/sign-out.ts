import type { TokenSet } from '../credentials/stored-credential.ts'
import { revokeTokens } from './token-endpoint.ts'
import { createTransport, type TransportOptions } from './transport.ts'

/**
 * Ends a sign-in on the server that gave it, where that has an endpoint for it.
 *
 * @throws Failure where the server did not say that it did
 */
export function signOut(tokens: TokenSet, transport: TransportOptions): Promise<void> {
  return revokeTokens(tokens, createTransport(transport))
}
