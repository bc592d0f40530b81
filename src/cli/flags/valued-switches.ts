import type { Command } from '@oclif/core/command'
import { Failure } from '../../contract/failure.ts'

type Flags = Record<string, Pick<Command.Flag.Any, 'type'>>

/**
 * Refuses `--json=true` and `--dry-run=false`. oclif takes the part after = for an argument, which would be
 * sent as a message or looked up as a user.
 *
 * @throws Failure `usage`
 */
export function refuseValuedSwitches(argv: readonly string[], flags: Flags): void {
  for (const [index, word] of argv.entries()) {
    if (word === '--') return
    const [, name = ''] = /^--([\w-]+)=/.exec(word) ?? []
    const isSwitch = flags[name]?.type === 'boolean' || flags[name.replace(/^no-/, '')]?.type === 'boolean'
    // After a flag that takes a value, any word is that value.
    const isValue = flags[argv[index - 1]?.replace(/^--/, '') ?? '']?.type === 'option'
    if (!isSwitch || isValue) continue
    // The value is not repeated, because it may be a secret.
    throw new Failure('usage', `--${name} does not take a value`, {
      hint: `Use --${name} without a value, or omit it.`,
    })
  }
}
