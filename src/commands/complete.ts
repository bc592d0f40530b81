import { BaseCommand } from '../cli/base-command.ts'
import type { AskForModels } from '../cli/completion/live-values.ts'
import {
  readShellLine,
  renderForBash,
  renderForFish,
  renderForPowershell,
  renderForZsh,
} from '../cli/completion/shells.ts'
import { type CompletionTree, suggest } from '../cli/completion/suggest.ts'
import type { LiveValues } from '../cli/completion/suggestions.ts'
import type { Directories } from '../system/files/directories.ts'
import { withSessionList } from './chat/choose-session.ts'

/** Maximum wait for a service after the Tab key, in ms. */
const patience = 1_000

/** Maximum number of sessions to offer. */
const maxSessions = 100

/** Called by the completion scripts. Errors are not shown, because the user is typing. */
export default class Complete extends BaseCommand {
  static override baseFlags = {} as typeof BaseCommand.baseFlags
  static override hidden = true
  static override strict = false
  static override summary = 'List completion candidates for a command line'

  async run(): Promise<void> {
    const { commands, topics } = this.config
    const { createLiveValues } = await import('../cli/completion/live-values.ts')
    const live = createLiveValues(this.streams.host, this.#askForModels, findSessions)
    const output = await renderCandidates(this.argv, { commands, topics }, live)
    if (output === '') return
    await this.streams.writeData(output).catch(() => {
      // A message would overwrite the line that is being typed.
      this.exitCode = 0
    })
  }

  readonly #askForModels: AskForModels = async ({ baseUrl, path, credential }) => {
    const { Client } = await import('../client/client.ts')
    const { env, clock } = this.streams.host
    const client = new Client({
      baseUrl,
      credential,
      userAgent: `chatctl/${this.config.version}`,
      timeout: patience,
      retries: 0,
      maxWait: 0,
      env,
      internal: { clock },
      signal: AbortSignal.timeout(patience),
    })
    const { text } = await client.request({ method: 'GET', path })
    const { data } = JSON.parse(text)
    const models: readonly { id?: unknown }[] = Array.isArray(data) ? data : []
    return models.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
  }

  protected override async catch(): Promise<void> {}
}

/** Without a word, only the last sessions are read. */
function findSessions(directories: Directories, word: string) {
  const limit = word === '' ? maxSessions : undefined
  return withSessionList(directories, { limit }, async (list) => {
    const found = (await list.find(word)).slice(0, maxSessions)
    // The columns of the row are separated by spaces, of which a shell keeps one.
    return found.map((one) => ({ ...one, title: list.row(one, 80).replaceAll(/ {2,}/g, ' · ') }))
  })
}

/**
 * Output for a completion script that passes `--shell=NAME -- WORD…`, with the unfinished word last. bash
 * passes `-- LINE BREAKS` instead, because it splits words differently. `--next` is an empty last word,
 * which some shells cannot pass. Without a shell, the output is one value per line.
 */
async function renderCandidates(
  argv: readonly string[],
  program: CompletionTree,
  live: LiveValues,
): Promise<string> {
  const end = argv.indexOf('--')
  const options = argv.slice(0, Math.max(end, 0))
  const given = argv.slice(end + 1)
  const words = options.includes('--next') ? [...given, ''] : given
  switch (options.find((option) => option.startsWith('--shell='))?.slice('--shell='.length)) {
    case 'bash': {
      const [text = '', breaks = ''] = given
      const line = readShellLine(text, breaks)
      return renderForBash(await suggest(line.words.slice(1), program, live), line)
    }
    case 'zsh':
      return renderForZsh(await suggest(words, program, live))
    case 'fish':
      return renderForFish(await suggest(words, program, live))
    case 'powershell':
      return renderForPowershell(await suggest(words, program, live))
    default: {
      const { candidates } = await suggest(words, program, live)
      return candidates.map(({ value }) => `${value}\n`).join('')
    }
  }
}
