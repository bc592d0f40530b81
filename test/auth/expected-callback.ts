import {
  type CallbackExpectation,
  type CallbackResult,
  checkCallback,
} from '../../src/auth/check-callback.ts'

export const state = 'kq0XbW2tVn4Zr8sYpLhGf3DcAeUo7JiM1N5B6v9wExT'
export const issuer = 'https://id.example'

/** The callback that the sign-in of these tests expects. */
export const ours: CallbackExpectation = {
  host: '127.0.0.1:53123',
  path: '/callback',
  state,
  issuer,
  requiresIssuer: false,
}

/** Judges a callback with this query. */
export function judge(query: string, expectation: Partial<CallbackExpectation> = {}): CallbackResult {
  const request = { method: 'GET', host: ours.host, target: `/callback?${query}` }
  return checkCallback(request, { ...ours, ...expectation })
}

export function encode(pairs: [string, string][]): string {
  return pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
}
