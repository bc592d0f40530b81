import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { editOutside } from '../../system/external-editor.ts'
import type { Context } from '../context/context.ts'
import { describeFailure } from '../errors/describe-failure.ts'
import { sentences } from '../errors/hints.ts'
import { reportError } from '../errors/render-error.ts'
import { savePrivateFile } from './private-files.ts'

interface Editing<T> {
  fileName: string
  /** Shell command of the editor. */
  command: string | undefined
  /** Parses the text. @throws Failure `refused` for an invalid text */
  read(text: string): T
  /** Called when the text cannot be used. Its result is thrown. */
  giveUp(text: string, error: unknown): unknown
}

/**
 * Opens a document in the editor. In a terminal, opens it again until the text is valid.
 * @returns undefined if the text is unchanged or empty
 */
export async function editDocument<T>(
  original: string,
  { fileName, command, read, giveUp }: Editing<T>,
  context: Context,
): Promise<{ text: string; value: T } | undefined> {
  const { env, host, directories } = context
  const outside = { env, cwd: host.cwd, platform: host.platform, temporary: directories.temporary }
  let text = original
  for (;;) {
    const before = text
    try {
      text = await lendTerminal(context, () => editOutside(before, { fileName, command, ...outside }))
    } catch (error) {
      throw before === original ? error : giveUp(before, error)
    }
    const isSomething = text !== original && !isEmpty(text)
    if (context.signal.aborted)
      throw isSomething ? giveUp(text, context.signal.reason) : context.signal.reason
    if (!isSomething) return undefined
    try {
      return { text, value: read(text) }
    } catch (error) {
      if (!(error instanceof Failure) || !context.prompter.canAsk) throw giveUp(text, error)
      const { streams, output } = context
      await reportError(error, { streams, json: false, debug: false, noColor: output.isColorless })
      try {
        await context.prompter.confirm('Edit it again?')
      } catch (refusal) {
        throw giveUp(text, refusal)
      }
    }
  }
}

/** Ctrl-C belongs to the editor. Both processes receive it. */
async function lendTerminal<T>({ host }: Context, use: () => Promise<T>): Promise<T> {
  const release = host.takeSignal('SIGINT', () => {})
  try {
    return await use()
  } finally {
    release()
  }
}

/** Whether only comments and blank lines are left. */
function isEmpty(text: string): boolean {
  return text.split('\n').every((line) => /^\s*(#.*)?$/.test(line))
}

interface EditedDocument {
  /** The beginning of the file name. */
  name: string
  extension: string
  /** The command line that uses the saved file. */
  useWith(path: string): string
}

/**
 * Saves an edited text after a failure, so that it can be used later.
 * @returns the same error, with a hint that names the file
 */
export function keepEdit(text: string, error: unknown, context: Context, document: EditedDocument): unknown {
  const words = keep(text, context, document)
  if (!(error instanceof Failure)) {
    context.output.notice(words)
    return error
  }
  const { hint } = describeFailure(error, context.connection())
  return error.reworded(error.message, { hint: hint === undefined ? words : sentences([hint, words]) })
}

function keep(text: string, context: Context, { name, extension, useWith }: EditedDocument): string {
  try {
    const path = savePrivateFile(context, 'edits', name, extension, text)
    return `The edited text is saved. Apply it with: ${useWith(path)}`
  } catch (error) {
    return `The edited text could not be saved: ${describeSystemError(error)}`
  }
}
