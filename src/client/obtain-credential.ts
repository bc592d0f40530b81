import { unlessAborted } from '../system/unless-aborted.ts'
import type { ClientOptions } from './client-options.ts'

/**
 * The credential for one request of a client. A source heeds the signal of the client itself, because it may have to
 * store a renewed token first. It does not know the signal of the call.
 * @param own signal of the call
 * @param rejected see `CredentialSource`
 * @throws the reason of `own`; what the source throws
 */
export async function obtainCredential(
  { credential, signal }: Pick<ClientOptions, 'credential' | 'signal'>,
  own: AbortSignal | undefined,
  rejected?: string,
): Promise<string | undefined> {
  if (typeof credential !== 'function') return credential
  const found = credential(rejected)
  try {
    return await (own ? unlessAborted(found, own) : found)
  } catch (error) {
    if (signal?.aborted) return found
    throw error
  }
}
