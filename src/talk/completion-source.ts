import { readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { Completions } from './editor/editor-options.ts'
import { expandHome } from './save-text.ts'
import type { Session } from './session.ts'
import { slashCommands } from './slash/slash-commands.ts'

const none: Completions = { start: 0, candidates: [] }

/** What Tab puts in: commands, and what may stand behind them. */
export class CompletionSource {
  readonly #session: Session
  #models: readonly string[] | undefined

  constructor(session: Session) {
    this.#session = session
  }

  /** @param before the line as far as the cursor */
  async complete(before: string): Promise<Completions> {
    const [, name, argument] = /^\/(\S*)(?:\s+(.*))?$/s.exec(before) ?? []
    if (name === undefined) return none
    if (argument === undefined) {
      const found = slashCommands.filter((command) => command.name.startsWith(name))
      return {
        start: 1,
        candidates: found.map(({ name: whole, argument }) => (argument ? `${whole} ` : whole)),
      }
    }
    const start = before.length - argument.length
    const command = slashCommands.find((one) => one.name === name)
    if (command?.takesPath) return completePath(argument, start)
    const candidates = (await command?.candidates?.(this.#session)) ?? []
    return { start, candidates: candidates.filter((one) => one.startsWith(argument)) }
  }

  /** The models that the service offers, asked for once; none where it cannot be asked. */
  async models(): Promise<readonly string[]> {
    this.#models ??= await this.fetchModels(this.#session.options.signal).catch(() => [])
    return this.#models
  }

  /** @throws Failure of the service */
  async fetchModels(signal: AbortSignal): Promise<readonly string[]> {
    const { body } = await this.#session.client.chat.models({ signal })
    const models = Array.isArray(body?.data) ? body.data : []
    this.#models = models.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
    return this.#models
  }
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
