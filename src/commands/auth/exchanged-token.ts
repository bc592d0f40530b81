import type { Context } from '../../cli/context/context.ts'
import { durationFlag, textListFlag } from '../../cli/flags/flag-types.ts'
import { roundDuration } from '../../config/units.ts'

/** The flags of a token with fewer permissions than the credential in use. */
export const exchangeFlags = {
  permission: textListFlag({
    helpValue: 'PERMISSION',
    summary: 'Permission of the token, such as read:chat (default: all of the credential)',
    parse: async (input) => {
      if (/^[^\s":,]+:[^\s":,]+$/.test(input)) return input
      throw new Error(`"${input}" is not ACTION:RESOURCE, such as read:chat`)
    },
  }),
  for: durationFlag({ helpValue: 'DURATION', summary: 'Lifetime of the token, such as 15m (default: 1h)' }),
}

const defaultLifetime = 3_600_000

/** Exchanges the credential of this run, and warns if the token is not as requested. */
export async function obtainToken(
  { credentials, output, transport }: Context,
  { permission: permissions = [], for: lifetime = defaultLifetime }: { permission?: string[]; for?: number },
): ReturnType<Context['credentials']['exchange']> {
  const obtained = await credentials.exchange(permissions, lifetime)
  const { scope = '', expires_at: end } = obtained.tokens
  const normalize = (names: readonly string[]) => [...new Set(names)].sort().join(' ')
  if (permissions.length > 0 && normalize(permissions) !== normalize(scope.split(' '))) {
    await output.warn(`The service granted "${scope}" instead of "${permissions.join(' ')}"`)
  }
  const left = end === undefined ? Infinity : Date.parse(end) - transport.clock.now()
  // A response takes time to arrive.
  if (Math.abs(left - lifetime) > 60_000) {
    const time = end === undefined ? 'an unknown time' : roundDuration(left)
    await output.warn(`The service granted the token for ${time} instead of ${roundDuration(lifetime)}`)
  }
  return obtained
}
