import type { FailedRequest } from '../../contract/failure.ts'
import { decodedPart } from '../../contract/or-else.ts'

/** A command line for the service of the request. */
type ToCommand = (...words: string[]) => string

/** How to find out whether a request took effect, by its method and the end of its path: words, and a command. */
const checks: readonly [request: RegExp, words: string, ...command: string[]][] = [
  [/^PATCH .*\/v1\/settings$/, 'Check the current settings with', 'settings', 'get'],
  [
    /^POST .*\/v1\/settings\/api$/,
    'The API configuration cannot be read back. To send it again, run the same command again.',
  ],
  [
    /^POST .*\/v1\/users$/,
    'The user may exist, and the interface of the service cannot search for users. Look for the email on the service before you create the user again. See what this machine knows with',
    'users',
    'list',
  ],
  [/^PATCH .*\/v1\/users\/([^/]+)$/, 'Check the user with', 'users', 'get'],
  [
    /^POST .*\/v1\/users\/[^/]+\/permissions$/,
    'Permissions cannot be read back. To assign them again, run the same command again.',
  ],
  [/^PUT .*\/api\/user\/settings$/, 'Check your preferences with', 'settings', 'preferences'],
]

/** What to check, or to do, after a change whose outcome is unknown. */
export function outcomeHint(request: FailedRequest | undefined, command: ToCommand): string {
  const asked = request ? `${request.method} ${new URL(request.url).pathname}` : ''
  for (const [pattern, words, ...line] of checks) {
    const [matched, id] = pattern.exec(asked) ?? []
    if (matched === undefined) continue
    if (line.length === 0) return words
    return `${words}: ${command(...line, ...(id === undefined ? [] : [decodedPart(id)]))}`
  }
  return 'Check the effect before you send the request again.'
}
