import type { FailedRequest } from '../contract/failure.ts'

/** A command line for the service of the request. */
type ToCommand = (...words: string[]) => string

/** How to find out whether a request took effect, by its method and the end of its path. */
const checks: readonly [request: RegExp, hint: (command: ToCommand, id?: string) => string][] = [
  [/^PATCH .*\/v1\/settings$/, (command) => `Check the current settings with: ${command('settings', 'get')}`],
  [
    /^POST .*\/v1\/settings\/api$/,
    () => 'The API configuration cannot be read back. Run the same command again to send it once more.',
  ],
  [
    /^POST .*\/v1\/users$/,
    () =>
      'The user may exist, and cannot be searched for. A service that accepts each email once answers a second attempt with 409 (exit code 7).',
  ],
  [
    /^PATCH .*\/v1\/users\/([^/]+)$/,
    (command, id = '') => `Check the user with: ${command('users', 'get', decode(id))}`,
  ],
  [
    /^POST .*\/v1\/users\/[^/]+\/permissions$/,
    () => 'Permissions cannot be read back. Run the same command again to assign them once more.',
  ],
  [
    /^PUT .*\/api\/user\/settings$/,
    (command) => `Check your preferences with: ${command('settings', 'preferences')}`,
  ],
]

/** What to check, or to do, after a change whose outcome is unknown. */
export function outcomeHint(request: FailedRequest | undefined, command: ToCommand): string {
  const asked = request && `${request.method} ${new URL(request.url).pathname}`
  for (const [pattern, hint] of checks) {
    const match = pattern.exec(asked ?? '')
    if (match) return hint(command, match[1])
  }
  return 'Check its effect before you send it again.'
}

/** A path that was given to \`chatctl api\` may not be encoded well. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
