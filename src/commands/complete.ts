import { BaseCommand } from '../cli/base-command.ts'
import type { LiveValues } from '../cli/completion/live-values.ts'
import {
  renderForBash,
  renderForFish,
  renderForPowershell,
  renderForZsh,
} from '../cli/completion/render-suggestions.ts'
import { readShellLine } from '../cli/completion/shell-line.ts'
import { type CompletionTree, suggest } from '../cli/completion/suggest.ts'
import { type Host, resolvePath } from '../cli/host.ts'
import { Directories } from '../system/files/directories.ts'

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
    const { commands, topics, version } = this.config
    const { host } = this.streams
    const directories = new Directories(host.env)
    const { readConfiguration } = await import('../config/configuration-file.ts')
    const { profileHere } = await import('../config/profile-directories.ts')
    const live: LiveValues = {
      // The profile of the working directory takes precedence over the default profile.
      configuration: () => {
        try {
          const configuration = readConfiguration(directories)
          const here = profileHere(configuration, resolvePath(host, '.'), host.env)
          return here ? { ...configuration, default_profile: here.value } : configuration
        } catch {
          // `doctor` reports it.
          return {}
        }
      },
      models: (flags) => findModels(flags, host, `chatctl/${version}`).catch(() => []),
      prompts: () => openPrompts(directories),
      sessions: () => findSessions(directories).catch(() => []),
    }
    const output = await renderCandidates(this.argv, { commands, topics }, live)
    if (output === '') return
    await this.streams.writeData(output).catch(() => {
      // A message would overwrite the line that is being typed.
      this.exitCode = 0
    })
  }

  protected override async catch(): Promise<void> {}
}

async function findModels(flags: { profile?: string; base_url?: string }, host: Host, userAgent: string) {
  const { findModels: find } = await import('../cli/completion/live-models.ts')
  return find(flags, host, async ({ baseUrl, path, credential }) => {
    const { Client } = await import('../client/client.ts')
    const client = new Client({
      baseUrl,
      credential,
      userAgent,
      timeout: patience,
      retries: 0,
      maxWait: 0,
      env: host.env,
      clock: host.clock,
      signal: AbortSignal.timeout(patience),
    })
    const { text } = await client.request({ method: 'GET', path })
    const { data } = JSON.parse(text)
    const models: readonly { id?: unknown }[] = Array.isArray(data) ? data : []
    return models.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
  })
}

async function openPrompts(directories: Directories) {
  const { parsePrompt } = await import('../config/prompts/prompt-file.ts')
  const { PromptLibrary } = await import('../config/prompts/prompt-library.ts')
  const library = new PromptLibrary(directories)
  return {
    names: () => library.names(),
    variablesOf: (name: string) => {
      try {
        return parsePrompt(name, library.read(name)).variables
      } catch {
        return []
      }
    },
  }
}

async function findSessions({ sessions }: Directories) {
  const { listTranscripts } = await import('../chat/transcript/list-transcripts.ts')
  const summaries = listTranscripts(sessions, undefined, { limit: maxSessions })
  return summaries.map(({ id, contextId, name, firstMessage }) => ({
    id,
    contextId,
    name,
    title: name ?? firstMessage,
  }))
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
  const shell = options.find((option) => option.startsWith('--shell='))?.slice('--shell='.length)
  switch (shell) {
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
