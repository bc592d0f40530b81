import * as Flags from '@oclif/core/flags'
import { parsePeriod } from '../../../config/units.ts'
import { rotatedKeyView } from '../../../view/service.ts'
import { changeFlags, keyArgument, ServiceCommand } from '../service-command.ts'
import { keyFlags, planned } from '../service-flags.ts'

export default class ServiceKeysRotate extends ServiceCommand {
  static override summary = 'Replace an API key with a new one'
  static override description =
    'The new key is printed once. It has the name, user, tier, limit, and permissions of the old key. The old key stays valid for the overlap, and gets the name "NAME (rotated)". Service processes apply the change to the next request.'
  static override view = rotatedKeyView
  static override examples = ServiceCommand.toExamples({
    'Show what would change': 'chatctl service keys rotate ci --dry-run',
    'Replace a key, and keep the old key valid for a day': 'chatctl service keys rotate ci --overlap 24h',
    'Replace a leaked key immediately, and print only the new key':
      'chatctl service keys rotate ci --overlap 0 --jq .key',
  })
  static override args = keyArgument
  static override flags = {
    overlap: Flags.custom<number>({
      helpValue: 'DURATION',
      summary: 'How long the old key stays valid, such as 24h or 7d; 0 revokes it immediately (default: 24h)',
      parse: async (input) => {
        const overlap = input.trim() === '0' ? 0 : parsePeriod(input)
        if (overlap === undefined || overlap > maxOverlap)
          throw new Error(`"${input}" is not a duration such as 24h or 7d, or 0`)
        return overlap
      },
    })(),
    expires: {
      ...keyFlags.expires,
      summary: `${keyFlags.expires.summary} (default: the lifetime of the old key)`,
    },
    ...changeFlags,
  }

  async run(): Promise<void> {
    const { args, flags, context, administration } = await this.startOnData(ServiceKeysRotate)
    const rotation = { overlap: flags.overlap ?? defaultOverlap, expiresAt: flags.expires?.at }
    const rotated = await administration.rotateKey(args.key, rotation)
    if (context.dryRun) {
      const { replaces, ...created } = rotated
      return this.showLocalChange({ create: planned(created), replaces })
    }
    await context.output.showOnce(rotatedKeyView, rotated, { name: 'key', value: rotated.key })
  }
}

const day = 24 * 3_600_000

/** In ms. */
const defaultOverlap = day
const maxOverlap = 36_500 * day
