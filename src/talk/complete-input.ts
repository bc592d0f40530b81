import { readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { Completions } from '../terminal/editor/editor-options.ts'
import type { Session } from './session.ts'
import { expandHome } from './slash/save-text.ts'
import { slashCommands } from './slash/slash-commands.ts'

const none: Completions = { start: 0, candidates: [] }

/**
 * What Tab puts in: commands, and what may stand behind them.
 * @param before the line as far as the cursor
 */
export async function completeInput(session: Session, before: string): Promise<Completions> {
  const [, name, argument] = /^\/(\S*)(?:\s+(.*))?$/s.exec(before) ?? []
  if (name === undefined) return none
  if (argument === undefined) {
    const found = slashCommands.filter((command) => command.name.startsWith(name))
    const candidates = found.map(({ name: whole, argument }) => (argument ? `${whole} ` : whole))
    return { start: 1, candidates }
  }
  const start = before.length - argument.length
  const command = slashCommands.find((one) => one.name === name)
  if (command?.takesPath) return completePath(argument, start)
  const candidates = (await command?.candidates?.(session)) ?? []
  return { start, candidates: candidates.filter((one) => one.startsWith(argument)) }
}

async function completePath(typed: string, from: number): Promise<Completions> {
  const name = typed.endsWith('/') ? '' : basename(typed)
  const start = from + typed.length - name.length
  const folder = typed === name ? '.' : dirname(`${expandHome(typed)}x`)
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    const found = entries.filter(
      (entry) => entry.name.startsWith(name) && (name !== '' || !entry.name.startsWith('.')),
    )
    return {
      start,
      candidates: found.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort(),
    }
  } catch {
    return none
  }
}
