import { Command } from '@oclif/core/command'
import type { LiveValues } from '../cli/completion/live-values.ts'
import { writeData } from '../cli/output/streams.ts'
import { sessionsDirectory } from '../system/paths.ts'

/** Ms that somebody who pressed Tab is kept waiting for a service. */
const patience = 1_000

/** Sessions that are offered. */
const mostSessions = 100

/** What the completion scripts ask. Whatever is wrong, it is quiet: somebody is typing. */
export default class Complete extends Command {
  static override hidden = true
  static override strict = false
  static override summary = 'List the candidates for the last word of a command line.'

  async run(): Promise<void> {
    const { answerShell } = await import('../cli/completion/answer-shell.ts')
    const { commands, topics, version } = this.config
    const live: LiveValues = {
      models: (said) => findModels(said, `chatctl/${version}`).catch(() => []),
      sessions: () => findSessions().catch(() => []),
    }
    const answer = await answerShell(this.argv, { commands, topics }, live)
    if (answer === '') return
    await writeData(answer).catch(() => {
      // Nobody's loss; told, it would be told over what is being typed.
      process.exitCode = 0
    })
  }

  protected override async catch(): Promise<void> {}
}

async function findModels(said: { profile?: string; base_url?: string }, userAgent: string) {
  const { findModels: find } = await import('../cli/completion/live-models.ts')
  return find(said, process.env, async (baseUrl, credential) => {
    const { Client } = await import('../client/client.ts')
    const client = new Client({
      baseUrl,
      credential,
      userAgent,
      timeout: patience,
      retries: 0,
      maxWait: 0,
      signal: AbortSignal.timeout(patience),
    })
    const { body } = await client.chat.models()
    const models = Array.isArray(body?.data) ? body.data : []
    return models.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
  })
}

async function findSessions() {
  const { listTranscripts } = await import('../talk/transcript/list-transcripts.ts')
  const summaries = listTranscripts(sessionsDirectory(), undefined, mostSessions)
  return summaries.map(({ id, contextId, name, firstMessage }) => ({
    id,
    contextId,
    title: name ?? firstMessage,
  }))
}
