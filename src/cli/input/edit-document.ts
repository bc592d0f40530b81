import { Failure } from '../../contract/failure.ts'
import { editOutside } from '../../system/external-editor.ts'
import type { Context } from '../context.ts'
import { reportError } from '../render-error.ts'

/** A document that a person edits. */
export interface Editing<T> {
  fileName: string
  /** The editor as a shell takes it; vi where there is none. */
  command: string | undefined
  /** Makes of a text what it says. @throws Failure `refused` for what is wrong with it */
  read(text: string): T
  /** Does what is to be done about a text with which something went wrong; its result is thrown. */
  giveUp(text: string, error: unknown): unknown
}

/**
 * Has a document edited, on a terminal as often as it takes until it can be read.
 *
 * @returns undefined where it was left as it is, or nothing was left of it
 */
export async function editDocument<T>(
  original: string,
  { fileName, command, read, giveUp }: Editing<T>,
  context: Context,
): Promise<{ text: string; value: T } | undefined> {
  const { env, host, directories } = context
  const outside = { env, cwd: host.cwd, temporary: directories.temporary }
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

/** Ctrl-C is for the editor; both get it. */
async function lendTerminal<T>({ host }: Context, use: () => Promise<T>): Promise<T> {
  const release = host.takeInterrupts(() => {})
  try {
    return await use()
  } finally {
    release()
  }
}

/** Comments alone say nothing. */
function isEmpty(text: string): boolean {
  return text.split('\n').every((line) => /^\s*(#.*)?$/.test(line))
}
