import type { Command } from '@oclif/core/command'
import { sharedFlags } from '../flags/shared-flags.ts'
import { helpTopics } from '../help/page.ts'
import { isNegatable, readFlags, readLine, readShortForm, readWords, takesValue } from '../line/read-line.ts'
import {
  type Candidate,
  type Flag,
  type LiveValues,
  nothing,
  type Suggestions,
  startingWith,
  type TypedLine,
  withPrefix,
} from './suggestions.ts'
import { suggestArgument, suggestFlagValue } from './values.ts'

/** What can be typed at all. */
export interface CompletionTree {
  commands: readonly Command.Loadable[]
  /** Names with colons, `settings:api`. */
  topics: readonly { name: string; description?: string | undefined }[]
}

const shared = Object.entries(sharedFlags).map(([name, flag]) => ({ ...flag, name })) as readonly Flag[]

/** Candidates for the last of `words`. @param words what was typed after `chatctl`, the unfinished one last */
export async function suggest(
  words: readonly string[],
  tree: CompletionTree,
  live: LiveValues,
): Promise<Suggestions> {
  const word = words.at(-1) ?? ''
  const visible = { ...tree, commands: tree.commands.filter(({ hidden }) => !hidden) }
  const ids = visible.commands.map(({ id }) => id)
  const typed = words.slice(0, -1)
  const named = readLine(typed, ids)
  const flagsOfSend = Object.values(visible.commands.find(({ id }) => id === 'chat:send')?.flags ?? {})
  const message = named.path.length === 0 ? readShortForm(typed, ids, flagsOfSend) : undefined
  const { id, path, leading, rest, isHelp } = message ?? named
  if (isHelp && words.includes('help'))
    return startingWith(word, { candidates: helpWords(path, rest, visible) })
  const command = visible.commands.find((one) => one.id === id)
  const known = command ? Object.values(command.flags) : shared
  const given = readWords([...leading, ...rest], known)
  const isNameOpen = rest.length === 0 && given.awaiting === undefined
  const line = { ...given, command, path, known, isNameOpen }
  return startingWith(word, await suggestWord(word, line, visible, live))
}

async function suggestWord(
  word: string,
  line: TypedLine,
  tree: CompletionTree,
  live: LiveValues,
): Promise<Suggestions> {
  const { command, awaiting } = line
  if (awaiting && takesValue(awaiting, word, line.flags)) return suggestFlagValue(awaiting, word, line, live)
  const given = line.isPastFlags ? undefined : readFlags(word, line.known).at(-1)
  if (given?.value !== undefined) {
    return withPrefix(given.prefix, await suggestFlagValue(given.flag, given.value, line, live))
  }
  if (word.startsWith('-') && word !== '-' && !line.isPastFlags) return { candidates: flagsOf(line) }
  const next = line.isNameOpen ? nextWords(line.path, tree) : []
  const argument = command ? await suggestArgument(command, word, line, live) : nothing
  const flags = word === '-' && !line.isPastFlags ? flagsOf(line) : []
  return { ...argument, candidates: [...next, ...argument.candidates, ...flags] }
}

function nextWords(path: readonly string[], { commands, topics }: CompletionTree): Candidate[] {
  const prefix = path.map((part) => `${part}:`).join('')
  const names = commands
    .filter(({ id }) => id.startsWith(prefix))
    .map(({ id }) => id.slice(prefix.length).split(':')[0] ?? '')
  const found = [...new Set(names)].map((value) => ({
    value,
    description:
      commands.find(({ id }) => id === prefix + value)?.summary ??
      topics.find(({ name }) => name === prefix + value)?.description,
  }))
  return path.length > 0
    ? found
    : [...found, { value: 'help', description: 'Show help for a command or a topic' }]
}

/** What follows `help`: commands, and topics that are not about a command. */
function helpWords(path: readonly string[], rest: readonly string[], tree: CompletionTree): Candidate[] {
  if (rest.length > 0) return []
  if (path.length > 0) return nextWords(path, tree)
  const topics = helpTopics.map(({ name, summary }) => ({ value: name, description: summary }))
  return [...nextWords([], tree).filter(({ value }) => value !== 'help'), ...topics]
}

/** Those that may still be given: each once, unless it is repeatable, and none beside one that it excludes. */
function flagsOf({ command, flags, path, known }: TypedLine): Candidate[] {
  const help = { value: '--help', description: 'Show help' }
  const version = { value: '--version', description: 'Print the version' }
  // A topic by itself takes nothing.
  if (!command && path.length > 0) return [help]
  const free = known.filter((flag) => {
    const isGiven = flags.has(flag.name) && !(flag.type === 'option' && flag.multiple)
    return !flag.hidden && !isGiven && !flag.exclusive?.some((other) => flags.has(String(other)))
  })
  const own = free.flatMap((flag) => {
    const { summary } = flag
    const named = { value: `--${flag.name}`, description: summary }
    return isNegatable(flag)
      ? [named, { value: `--no-${flag.name}`, description: `Not: ${summary}` }]
      : [named]
  })
  return command || flags.size > 0 ? [...own, help] : [...own, help, version]
}
