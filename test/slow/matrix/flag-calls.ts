import { findFlag } from '../../support/flag-table.ts'
import { type CommandEntry, commands } from '../../support/manifest.ts'
import { sentEnds } from '../../support/reply-endings.ts'
import { type Call, callOf, withFlags } from './calls.ts'
import type { Form } from './forms.ts'

type FlagEntry = CommandEntry['flags'][string]

/** Value of the flag: a valid one, an invalid one, or an empty one. */
type Kind = 'valid' | 'invalid' | 'empty'

/** A command with one additional flag. */
export interface Flagged extends Call {
  command: string
  flag: string
  kind: Kind
  isShared: boolean
  /** Environment variables of the run. */
  env?: NodeJS.ProcessEnv
  /** The exit code of the reply's end. */
  endCode?: number
}

function addFlag({ id }: CommandEntry, entry: FlagEntry, words: readonly string[], kind: Kind): Flagged {
  const usual = callOf(id)
  const { base, stdin } = findFlag(id, entry.name)
  // The requests of the usual call need not be those of another call.
  const { service, ...call } = usual
  return {
    ...call,
    ...(base === undefined && service && { service }),
    ...(stdin !== undefined && { stdin }),
    args: withFlags(base?.split(' ') ?? usual.args, words),
    name: `${id} with ${kind} --${entry.name}`,
    command: id,
    flag: entry.name,
    kind,
    isShared: entry.helpGroup === 'GLOBAL',
  }
}

const all = commands.flatMap((command) => Object.values(command.flags).map((entry) => ({ command, entry })))

const withValues: readonly Flagged[] = all.map(({ command, entry }) => {
  if (entry.type === 'boolean') return addFlag(command, entry, [`--${entry.name}`], 'valid')
  const value = findFlag(command.id, entry.name).valid ?? entry.options?.[0] ?? ''
  return addFlag(command, entry, [`--${entry.name}`, value], 'valid')
})

const ends = Object.entries(sentEnds)

/** The flags of the commands that print a reply, each with a reply that has one of the ends. */
const ofEnds = withValues
  .filter(({ args, isShared }) => args.includes('Hello') && !isShared)
  .flatMap((call, index) => {
    const [end, [, , endCode]] = ends[index % ends.length] ?? ends[0] ?? ['complete', [{}, '', 0]]
    const args = call.args.map((word) => (word === 'Hello' ? `wants ${end}` : word))
    return [{ ...call, args, name: `${call.name} that ends: ${end}`, endCode }]
  })

/** Each flag of each command with a valid value. */
export const validFlags: readonly Flagged[] = [...withValues, ...ofEnds]

/** Each flag that has a variable, with that variable too: the flag takes precedence. */
export const flagsWithVariables: readonly Flagged[] = all.flatMap(({ entry }, index) => {
  const call = withValues[index]
  if (!call || entry.env === undefined) return []
  const env = { [entry.env]: entry.type === 'boolean' ? '1' : 'not valid' }
  return [{ ...call, name: `${call.name} and ${entry.env}`, env }]
})

/** Each flag of each command with an invalid value, an empty one, or a value although it takes none. */
export const invalidFlags: readonly Flagged[] = all.flatMap(({ command, entry }) => {
  const flag = `--${entry.name}`
  if (entry.type === 'boolean') return [addFlag(command, entry, [`${flag}=perhaps`], 'invalid')]
  const invalid = findFlag(command.id, entry.name).invalid ?? (entry.options ? 'no-such-word' : undefined)
  return [
    addFlag(command, entry, [flag, ''], 'empty'),
    ...(invalid === undefined ? [] : [addFlag(command, entry, [flag, invalid], 'invalid')]),
  ]
})

/** Flags that take a value but have none in this test. */
export const unvalued: readonly string[] = all
  .filter(
    ({ command, entry }) =>
      entry.type === 'option' && !entry.options && !findFlag(command.id, entry.name).valid,
  )
  .map(({ command, entry }) => `${command.id} --${entry.name}`)

/** The exit codes that a command with one more flag may have. */
export function expectedCodes(
  { command, flag, kind, fine, endCode }: Flagged,
  form: Form,
): readonly number[] {
  // It ignores invalid flags, because it runs each time a shell starts.
  if (command === 'autocomplete' && kind !== 'valid') return [0, 2]
  if (kind === 'empty') return [2]
  const { ends, jsonEnds, invalidEnds, refused = [] } = findFlag(command, flag)
  if (kind === 'invalid') return invalidEnds ?? [2]
  // A flag may set the token limit, select a part of the reply, or send nothing.
  const ofReply = endCode === undefined ? [] : [endCode, 0, 1, 7]
  return [...((form === 'JSON' ? jsonEnds : undefined) ?? ends ?? [fine[form]]), ...refused, ...ofReply]
}
