import type { ClientEvent } from '../client/client-event.ts'
import { Failure } from '../contract/failure.ts'
import { splitFiles } from '../contract/resources/file-block.ts'
import { plainText, typedPart } from '../terminal/editor/pasted-text.ts'
import { loadHighlight } from '../terminal/markdown/code-block.ts'
import { countOf } from '../view/format/quantities.ts'
import type { Entry } from './keyboard.ts'
import { sendPrompt } from './reply/send-prompt.ts'
import { Session } from './session.ts'
import type { SessionOptions } from './session-options.ts'
import { changeParameters } from './slash/parameter-commands.ts'
import { completeInput, runSlashCommand } from './slash/run-slash-command.ts'
import { summarize } from './transcript/list-transcripts.ts'

/**
 * Runs a session until the user leaves. Each entry is a message or a slash command, one at a time.
 * @throws Failure if the session cannot begin; the reason of the signal
 */
export async function runSession(options: SessionOptions): Promise<void> {
  const { run, begin, fork, serviceName } = options
  const { signal } = run
  const session: Session = new Session(options, (before) => completeInput(session, before))
  const { keyboard, output } = session
  const onAbort = (): void => session.stop(signal.reason)
  const greet = (): void => {
    const { model } = session.conversation
    const named = model === undefined ? serviceName : `${serviceName} · ${model}`
    output.note(`chatctl · ${named} · /help for commands, Ctrl-D to leave`)
    if (!options.isRecorded) output.note('This session is not recorded on this machine.')
    session.screen.separate()
    if (model === undefined && options.firstModelReplies) void announceModel(session)
  }
  signal.addEventListener('abort', onAbort)
  try {
    session.client = await options.connect((event) => showClientEvent(session, event))
    if (!options.isPlain) {
      void loadHighlight().then((highlight) => {
        session.highlight = highlight
      })
    }
    await session.stoppable(async (stop) => {
      const opened = await session.begin(begin, stop, fork)
      greet()
      opened.show(output)
    })
    if (options.system !== undefined) await changeParameters(session, { system: options.system })
    keyboard.open()
    const { message } = options
    if (message !== undefined) {
      output.showPrompt(message)
      await attempt(session, () => sendPrompt(session, message))
    }
    for (let entry = await keyboard.next(); entry; entry = await keyboard.next()) {
      await takeEntry(session, entry)
    }
    signal.throwIfAborted()
  } finally {
    signal.removeEventListener('abort', onAbort)
    session.status.clear()
    await keyboard.close()
    session.recorder?.close()
  }
  showResumeCommand(session)
}

async function takeEntry(session: Session, { text: entry, isShown }: Entry): Promise<void> {
  const { output, screen } = session
  const text = plainText(entry)
  if (!isShown) session.output.showPrompt(text)
  await attempt(session, async () => {
    if (/^\s*(exit|quit|bye|\/bye|:q)\s*$/i.test(text)) {
      // Other programs end on these words. Here they would be a message that costs money.
      output.note(`To leave, type /quit or press Ctrl-D. "${text.trim()}" was not sent.`)
      screen.separate()
    } else if (entry.startsWith('//')) await sendMessage(session, entry, true)
    else if (typedPart(entry).startsWith('/')) {
      await runSlashCommand(session, entry)
      screen.separate()
    } else await sendMessage(session, entry, false)
  })
}

/**
 * Shows the failure of an entry. The session continues.
 * @throws any error that is not a Failure; the reason of the signal
 */
async function attempt({ options, output, screen }: Session, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (options.run.signal.aborted || !(error instanceof Failure)) throw error
    output.showFailure(error)
    screen.separate()
  }
}

/** Names the model that will reply as soon as the service has listed it. The session does not wait for that. */
async function announceModel(session: Session): Promise<void> {
  const { models, client, options, conversation, output, screen } = session
  await models.recall(client, options.run.signal)
  const isKnown = conversation.model !== undefined || conversation.replyModel !== undefined
  if (models.standard === undefined || isKnown || options.isPlain || options.run.signal.aborted) return
  output.note(`Model: ${models.standard}`)
  screen.separate()
}

/**
 * Sends a message with its files. If a file cannot be sent, the text is offered again.
 * @param isLiteral whether the first slash is omitted, and `@path` is only text
 */
async function sendMessage(session: Session, entry: string, isLiteral: boolean): Promise<void> {
  const { attachments, output, keyboard, replacesLastPrompt } = session
  let message: string
  try {
    message = await attachments.compose(entry, { isLiteral, isEdited: replacesLastPrompt })
  } catch (error) {
    if (!(error instanceof Failure) || !keyboard.offer(entry)) throw error
    output.showFailure(error)
    output.note('To send @path as text, type \\@path.')
    return output.separate()
  }
  session.entered = { message, text: entry }
  const { files, text } = splitFiles(message)
  output.showFiles(files)
  for (const name of isLiteral ? [] : attachments.missingIn(entry))
    output.note(`[Cannot find the file ${name}, so its name is sent as text]`)
  for (const name of isLiteral ? [] : attachments.untypedIn(entry, files))
    output.note(`[Sent only the name ${name}, which was not typed. To send the file, type: /file ${name}]`)
  if (!isLiteral && text.startsWith('/')) output.note('[Sent as text: only a typed command runs]')
  await sendPrompt(session, message)
}

function showResumeCommand({ recorder, options, output }: Session): void {
  const { turns, id, path } = recorder
  if (turns === 0 || id === undefined || path === undefined) return
  const name = summarize(path)?.name
  const about = `${countOf(turns, 'turn')}${name === undefined ? '.' : `: ${name}`}`
  output.show(`${about}\nResume with: ${options.resumeCommand(id)}`)
}

/** Shows what the client waits for. */
function showClientEvent(session: Session, event: ClientEvent): void {
  const { output, status } = session
  const { isPlain } = session.options
  // Requests for Tab completion run in the background.
  if (!session.isBusy) return
  if (event.type === 'wait') {
    const words = (seconds: number): string => `Rate limited; retrying in ${seconds} s (Ctrl-C cancels)`
    if (isPlain) output.note(words(Math.ceil(event.after / 1000)))
    else status.showRemaining(event.after, words)
  } else if (event.type === 'retry') {
    if (isPlain) output.note(`${event.reason}; retrying`)
    else status.showElapsed(`${event.reason}; retrying…`)
  } else if (event.type === 'request') status.restart()
}
