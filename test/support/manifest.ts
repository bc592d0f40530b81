import { readFileSync } from 'node:fs'
import type { Example } from '../../src/cli/help/page.ts'
import type { EndpointName } from '../../src/contract/endpoints.ts'

/** A flag as the built manifest describes it. */
interface FlagEntry {
  name: string
  summary?: string
  type: 'boolean' | 'option'
  char?: string
  env?: string
  allowNo?: boolean
  /** The allowed values, if they are limited. */
  options?: string[]
  helpGroup?: string
  /** The placeholder of its value in the help. */
  helpValue?: string
}

/** A command as the built manifest describes it. */
export interface CommandEntry {
  id: string
  hidden?: boolean
  summary?: string
  description?: string
  examples?: Example[]
  flags: Record<string, FlagEntry>
  requests?: { calls: EndpointName[]; note?: string }
  view?: { layout: 'pairs' | 'records'; columns: { path: string }[] }
  documentFormats?: string[]
  offersMarkdown?: boolean
}

const manifest: { commands: Record<string, CommandEntry> } = JSON.parse(
  readFileSync(new URL('../../oclif.manifest.json', import.meta.url), 'utf8'),
)

/** Every built command, including hidden commands. */
export const commands: readonly CommandEntry[] = Object.values(manifest.commands)

/** A command ID as words: `settings api set`. */
export function wordsOf(id: string): string[] {
  return id.split(':')
}

/** The topics of commands: `settings`, `settings api`. */
export const topics: readonly string[] = [
  ...new Set(
    commands.flatMap(({ id }) => {
      const words = wordsOf(id)
      return words.slice(1).map((_, index) => words.slice(0, index + 1).join(' '))
    }),
  ),
]

/** The arguments of each example that begins with `chatctl`, without pipes and redirects. */
export function exampleWords({ examples = [] }: CommandEntry): string[][] {
  return examples
    .map(({ command }) => command)
    .filter((text) => text.startsWith('chatctl '))
    .map((text) => {
      const words = text.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []
      const end = words.findIndex((word) => /^[|<>]/.test(word))
      return words.slice(1, end === -1 ? undefined : end).map((word) => unquote(word))
    })
}

function unquote(word: string): string {
  return word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single)
}
