import type { FailedRequest } from '../failure.ts'
import { quoteWord } from './quote-word.ts'

/** How to find out whether a request took effect, by its method and the end of its path. */
const checks: readonly [request: RegExp, hint: (...groups: string[]) => string][] = [
  [/^PATCH .*\/v1\/settings$/, () => 'Check the current settings with: chatctl settings get'],
  [
    /^POST .*\/v1\/settings\/api$/,
    () => 'The API configuration cannot be read. Run the same command again to send it once more.',
  ],
  [
    /^POST .*\/v1\/users$/,
    () =>
      'The user may exist, and cannot be searched for. A service that accepts each email once answers a second attempt with 409 (exit code 7).',
  ],
  [
    /^PATCH .*\/v1\/users\/([^/]+)$/,
    (id = '') => `Check the user with: chatctl users get ${quoteWord(decodeURIComponent(id))}`,
  ],
  [
    /^POST .*\/v1\/users\/[^/]+\/permissions$/,
    () => 'Permissions cannot be read. Run the same command again to send them once more.',
  ],
  [/^PUT .*\/api\/user\/settings$/, () => 'Run the same command again to set the same values once more.'],
]

/** What to check, or to do, after a change whose outcome is unknown. */
export function outcomeHint(request: FailedRequest | undefined): string | undefined {
  if (request === undefined) return undefined
  const asked = `${request.method} ${new URL(request.url).pathname}`
  for (const [pattern, hint] of checks) {
    const match = pattern.exec(asked)
    if (match) return hint(...match.slice(1))
  }
  return 'Check its effect before you send it again.'
}
