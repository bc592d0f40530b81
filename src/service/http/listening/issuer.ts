import type { Exposure } from './exposure.ts'

/**
 * The origin under which people sign in, or undefined where nobody has said what clients call this
 * service: behind a proxy, or on all addresses of the machine at once. A wrong one would have
 * browsers refused, and cookies sent without `Secure`.
 * @param listening the origin that it listens on
 */
export function issuerOf(exposure: Exposure | undefined, listening: string): string | undefined {
  if (exposure?.publicUrl !== undefined) return exposure.publicUrl
  const { hostname } = new URL(listening)
  return exposure?.behindProxy || hostname === '0.0.0.0' || hostname === '[::]' ? undefined : listening
}

/** What is said where there is none. */
export const noSignIn = 'Nobody can sign in here: the service was started without a public URL'
