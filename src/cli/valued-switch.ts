import type { Command } from '@oclif/core/command'
import { Failure } from '../contract/failure.ts'

type Flags = Record<string, Pick<Command.Flag.Any, 'type'>>

/**
 * Refuses `--json=true` and `--dry-run=false`: oclif takes what stands behind the sign for an argument,
 * so that it would be sent as a message or looked for as a user.
 *
 * @throws Failure `usage`
 */
export function refuseValuedSwitches(argv: readonly string[], flags: Flags): void {
  for (const [index, word] of argv.entries()) {
    if (word === '--') return
    const [, name = ''] = /^--([\w-]+)=/.exec(word) ?? []
    const isSwitch = flags[name]?.type === 'boolean' || flags[name.replace(/^no-/, '')]?.type === 'boolean'
    // Behind a flag that takes a value it is that value, whatever it looks like.
    const isValue = flags[argv[index - 1]?.replace(/^--/, '') ?? '']?.type === 'option'
    if (!isSwitch || isValue) continue
    // Not said again: somebody may have taken it for the place of a secret.
    throw new Failure('usage', `--${name} takes no value, and one was given`, {
      hint: `Give --${name} alone, or leave it away.`,
    })
  }
}
