import { readdirSync } from 'node:fs'
import type { Command } from '@oclif/core/command'
import { readConfiguration } from '../../config/configuration-file.ts'
import { configurationKeys } from '../../config/configuration-keys.ts'
import { outputForms } from '../../config/output-forms.ts'
import { sessionsFolder } from '../../config/paths.ts'
import { profileNames } from '../../config/resolve-options.ts'
import { settingsKeys } from '../../contract/settings-keys.ts'
import { shells } from './completion-scripts.ts'

/**
 * Candidates for the last of `words`: sub-commands, then what the command takes there.
 *
 * @param words what was typed after `chatctl`, the unfinished one last
 */
export function suggest(words: readonly string[], commands: readonly Command.Loadable[]): string[] {
  const word = words.at(-1) ?? ''
  const before = words.slice(words[0] === 'help' ? 1 : 0, -1)
  const visible = commands.filter(({ hidden }) => !hidden)
  const path = before.filter((part) => !part.startsWith('-'))
  const command = longestMatch(path, visible)
  const candidates = valuesOf(before.at(-1), word, command) ?? [
    ...(command ? [] : nextWords(path, visible)),
    ...(command ? argumentsOf(command.id, path.length - command.id.split(':').length) : []),
    ...(word.startsWith('-') && command ? flagsOf(command) : []),
  ]
  return [...new Set(candidates)].filter((candidate) => candidate.startsWith(word)).sort()
}

function longestMatch(
  path: readonly string[],
  commands: readonly Command.Loadable[],
): Command.Loadable | undefined {
  for (let length = path.length; length > 0; length--) {
    const id = path.slice(0, length).join(':')
    const command = commands.find((known) => known.id === id)
    if (command) return command
  }
  return undefined
}

function nextWords(path: readonly string[], commands: readonly Command.Loadable[]): string[] {
  const prefix = path.map((part) => `${part}:`).join('')
  return commands
    .filter(({ id }) => id.startsWith(prefix))
    .map(({ id }) => id.slice(prefix.length).split(':')[0] ?? '')
}

/** The values of the flag that stands just before; undefined where it takes none of a known list. */
function valuesOf(flag: string | undefined, word: string, command: Command.Loadable | undefined) {
  if (word.startsWith('-')) return undefined
  if (flag === '--output' || flag === '-o') return [...outputForms]
  if (flag === '--profile' || flag === '-p') return profileNames(readConfiguration())
  const known = command?.flags[flag?.replace(/^--/, '') ?? '']
  return known && 'options' in known && known.options ? [...known.options] : undefined
}

function flagsOf({ flags }: Command.Loadable): string[] {
  return Object.entries(flags).flatMap(([name, flag]) =>
    'allowNo' in flag && flag.allowNo ? [`--${name}`, `--no-${name}`] : [`--${name}`],
  )
}

/** @param given how many arguments are there already; only `settings set` takes more of the same */
function argumentsOf(id: string, given: number): readonly string[] {
  if (given > 0 && id !== 'settings:set') return []
  switch (id) {
    case 'settings:get':
      return settingsKeys.map(({ path }) => path)
    case 'settings:set':
      return settingsKeys.map(({ path }) => `${path}=`)
    case 'config:get':
    case 'config:set':
      return configurationKeys
    case 'auth:use':
      return profileNames(readConfiguration())
    case 'autocomplete':
      return shells
    case 'chat:show':
      return sessionIds()
    default:
      return []
  }
}

/** By the names of the files alone: a key was pressed, and somebody waits. */
function sessionIds(): string[] {
  try {
    const names = readdirSync(sessionsFolder()).filter((name) => name.endsWith('.jsonl'))
    return names.map((name) => name.slice(0, -'.jsonl'.length))
  } catch {
    return []
  }
}
