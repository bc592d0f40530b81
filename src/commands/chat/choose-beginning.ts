import type { ConversationStart } from '../../chat/conversation-start.ts'
import { quoteWord } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { rememberLastContext } from '../../config/last-context.ts'
import { Failure } from '../../contract/failure.ts'
import { orElse } from '../../contract/or-else.ts'
import { isoNow } from '../../system/clock.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { countOf, describeAge } from '../../view/format/quantities.ts'
import { chooseSession, findSession } from './choose-session.ts'

type Optional = string | true | undefined

/**
 * The conversation that a session or a message continues.
 * @param needsReply whether the last conversation must have a reply
 * @throws Failure `usage` if there is none
 */
export async function chooseBeginning(
  flags: { context?: string | undefined; continue: boolean; resume?: Optional; fork?: Optional },
  context: Context,
  needsReply: boolean,
): Promise<ConversationStart> {
  if (flags.context !== undefined) {
    const { findTranscriptOfContext } = await import('../../chat/transcript/list-transcripts.ts')
    const find = (id: string) =>
      findTranscriptOfContext(context.directories.sessions, context.contextOwner(), id)
    const path = flags.fork === undefined ? undefined : find(flags.context)?.path
    return { kind: 'context', id: flags.context, path }
  }
  if (flags.resume === true) return { kind: 'transcript', path: await chooseSession(context) }
  if (flags.resume !== undefined)
    return { kind: 'transcript', path: await findSession(context, flags.resume) }
  if (!flags.continue) return { kind: 'new' }
  return continueLast(context, needsReply, flags.fork !== undefined)
}

/** Says which conversation is continued. If another process has it open, the user must confirm. */
async function continueLast(context: Context, needsReply: boolean, isFork: boolean) {
  const { directories, host, options, output, prompter, dryRun } = context
  const { findLastConversation } = await import('../../chat/last-conversation.ts')
  // A fork only reads.
  const isRecorded = options.save.value === 'on' && !dryRun && !isFork
  const last = findLastConversation(directories, context.contextOwner(), { needsReply, isRecorded })
  if (!last) {
    throw new Failure('usage', 'This profile has no conversation to continue', {
      hint: 'Omit --continue to start one, or name a conversation with --context ID.',
    })
  }
  const { begin, summary, usedAt, isOpenElsewhere } = last
  context.onClose(() => begin.writer?.close())
  const id = begin.kind === 'context' ? begin.id : undefined
  const label = summary ? `"${summary.name ?? summary.id}"` : `conversation ${quoteWord(id ?? '')}`
  if (isOpenElsewhere && !dryRun && !isFork) {
    const other = id === undefined ? 'End the other process' : `Continue it with: --context ${quoteWord(id)}`
    const hint = `${other}, or omit --continue to start a new conversation.`
    const question = `${label} is open in another chatctl process. Continue it here, too?`
    await prompter.confirm(question, 'Nothing was sent', hint)
  }
  // A fork may still fail, for example for a message that does not exist.
  const verb = isFork ? 'Last conversation:' : dryRun ? 'Would continue' : 'Continuing'
  const facts = [
    summary && countOf(summary.turns, 'turn'),
    describeAge(host.clock.now() - usedAt),
    dryRun && isOpenElsewhere && 'open in another chatctl process',
  ]
  output.progress(`${verb} ${label} (${facts.filter(Boolean).join(', ')})`)
  return begin
}

/**
 * Stores a conversation that is not recorded, for `--continue`. The reply has been shown, so a failure is only a warning.
 */
export async function rememberContext(context: Context, contextId: string | null | undefined): Promise<void> {
  if (!contextId) return
  try {
    const { nextUse } = await import('../../chat/transcript/transcript-files.ts')
    const usedAt = orElse(() => nextUse(context.directories.sessions), context.host.clock.now())
    const last = { id: contextId, at: isoNow(context.host.clock), usedAt }
    await rememberLastContext(context.directories, context.contextOwner(), last)
  } catch (error) {
    await context.output.warn(
      `Cannot remember this conversation for --continue: ${describeSystemError(error)}. Continue it with: --context ${quoteWord(contextId)}`,
    )
  }
}
