import { findFlag } from '../../support/flag-table.ts'
import { type CommandEntry, commands } from '../../support/manifest.ts'
import { type Call, callOf } from './calls.ts'
import type { Form } from './forms.ts'

type FlagEntry = CommandEntry['flags'][string]

/** What is given to the flag: what it takes, what it cannot mean, or nothing. */
type Kind = 'valid' | 'nonsense' | 'empty'

/** A command with one flag. */
export interface Flagged extends Call {
  command: string
  flag: string
  kind: Kind
  isShared: boolean
}

function addFlag({ id }: CommandEntry, entry: FlagEntry, words: readonly string[], kind: Kind): Flagged {
  const usual = callOf(id)
  const { base, stdin } = findFlag(id, entry.name)
  // Another call than the usual one may ask for nothing.
  const { service, ...call } = usual
  return {
    ...call,
    ...(base === undefined && service && { service }),
    ...(stdin !== undefined && { stdin }),
    args: [...(base?.split(' ') ?? usual.args), ...words],
    name: `${id} with ${kind} --${entry.name}`,
    command: id,
    flag: entry.name,
    kind,
    isShared: entry.helpGroup === 'GLOBAL',
  }
}

const all = commands.flatMap((command) => Object.values(command.flags).map((entry) => ({ command, entry })))

/** Each flag of each command with what it takes. */
export const validFlags: readonly Flagged[] = all.map(({ command, entry }) => {
  if (entry.type === 'boolean') return addFlag(command, entry, [`--${entry.name}`], 'valid')
  const value = findFlag(command.id, entry.name).valid ?? entry.options?.[0] ?? ''
  return addFlag(command, entry, [`--${entry.name}`, value], 'valid')
})

/** Each flag of each command with what it cannot mean, with nothing, or with a value where it takes none. */
export const nonsenseFlags: readonly Flagged[] = all.flatMap(({ command, entry }) => {
  const flag = `--${entry.name}`
  if (entry.type === 'boolean') return [addFlag(command, entry, [`${flag}=perhaps`], 'nonsense')]
  const nonsense = findFlag(command.id, entry.name).nonsense ?? (entry.options ? 'no-such-word' : undefined)
  return [
    addFlag(command, entry, [flag, ''], 'empty'),
    ...(nonsense === undefined ? [] : [addFlag(command, entry, [flag, nonsense], 'nonsense')]),
  ]
})

/** Flags that take a value and that nobody gave one here. */
export const unvalued: readonly string[] = all
  .filter(
    ({ command, entry }) =>
      entry.type === 'option' && !entry.options && !findFlag(command.id, entry.name).valid,
  )
  .map(({ command, entry }) => `${command.id} --${entry.name}`)

/** The exit codes that a command with one more flag may have. */
export function expectedCodes({ command, flag, kind, fine }: Flagged, form: Form): readonly number[] {
  // What it has no use for is not judged: it is called whenever a shell starts.
  if (command === 'autocomplete' && kind !== 'valid') return [0, 2]
  if (kind === 'empty') return [2]
  const { ends, jsonEnds, nonsenseEnds, refused = [] } = findFlag(command, flag)
  if (kind === 'nonsense') return nonsenseEnds ?? [2]
  return [...((form === 'JSON' ? jsonEnds : undefined) ?? ends ?? [fine[form]]), ...refused]
}
