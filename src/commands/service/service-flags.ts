import type { Command } from '@oclif/core/command'
import * as Flags from '@oclif/core/flags'
import type { BaseCommand } from '../../cli/base-command.ts'
import { integerFlag, textListFlag } from '../../cli/flags/flag-types.ts'
import { parseFutureTime, parsePastTime } from '../../config/units.ts'
import { Failure } from '../../contract/failure.ts'

export const keepAuditFlag = Flags.boolean({
  summary: 'Keep the ID, name, and email address of the user in the audit log',
})

/** Flags of `service keys create` and `service keys update`. */
export const keyFlags = {
  limit: integerFlag({ helpValue: 'N', summary: 'Hourly limit for enterprise (fixed for free and pro)' }),
  permission: textListFlag({
    helpValue: 'PERMISSION',
    summary: 'Permission of the key, such as read:chat or *:users; all for every permission of its user',
  }),
  expires: Flags.custom<{ at: string | null }>({
    helpValue: 'TIME',
    summary: 'Expiry time: 30d, 12h, 2027-01-31 (UTC), or never',
    parse: async (input, command) => {
      if (input.trim() === 'never') return { at: null }
      const end = parseFutureTime(input, nowOf(command))
      if (end === undefined)
        throw new Error(`"${input}" is not a date such as 2027-01-31, a duration such as 30d, or never`)
      return { at: new Date(end).toISOString() }
    },
  })(),
}

/** The time of the run that a flag belongs to. */
const nowOf = (command: Command) => (command as BaseCommand).streams.host.clock.now()

const unplanned = ['id', 'key', 'prefix', 'created_at', 'last_used_at', 'revoked_at', 'disabled_at']

/** A key, a trust, or a user as a dry run shows it: a real run would give it another ID, key, and time. */
export const planned = (created: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(created).filter(([name]) => !unplanned.includes(name)))

export const tiers = ['free', 'pro', 'enterprise'] as const

/** The tier of a new key or trust. */
export const tierFlag = Flags.option({
  helpValue: 'TIER',
  options: tiers,
  default: 'free',
  summary: 'Tier: free, pro, or enterprise',
})()

/**
 * What `--permission` means: null for every permission of the user of the key, undefined without the flag.
 * @throws Failure `usage` if `all` is combined with other permissions
 */
export function keyPermissions(given: readonly string[] | undefined): readonly string[] | null | undefined {
  if (!given?.includes('all')) return given
  if (given.length === 1) return null
  throw new Failure('usage', '--permission all cannot be combined with other permissions')
}

/** A moment of the past, as ISO 8601. */
export const pastFlag = Flags.custom<string>({
  helpValue: 'TIME',
  parse: async (input, command) => {
    const moment = parsePastTime(input, nowOf(command))
    if (moment === undefined)
      throw new Error(`"${input}" is not a date such as 2026-01-31, or a duration such as 7d`)
    return new Date(moment).toISOString()
  },
})
