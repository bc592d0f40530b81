/**
 * How a program finds out that a server is the one of a run record, before it sends anything to it: the
 * server answers a challenge with the key of the record. Another program on the same port cannot.
 */
export const challengeHeader = 'x-chatctl-challenge'
export const proofHeader = 'x-chatctl-proof'

/** @returns undefined for a challenge that this program does not send */
export function proveRun(key: string, challenge: unknown): string | undefined {
  if (typeof challenge !== 'string' || !/^[\w-]{22,64}$/.test(challenge)) return undefined
  const { createHmac } = process.getBuiltinModule('node:crypto')
  return createHmac('sha256', key).update(`chatctl run ${challenge}`).digest('base64url')
}
