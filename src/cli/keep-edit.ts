import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { stateFolder } from '../config/paths.ts'
import { Failure } from '../failure.ts'
import { systemWords } from '../system-words.ts'
import { commandFor } from './command-for.ts'
import type { Context } from './create-context.ts'

/**
 * Keeps what was edited where it came to nothing, and says how to go on with it.
 *
 * @returns the error to be thrown: the same, with where the text is
 */
export function keepEdit(text: string, error: unknown, context: Context): unknown {
  const words = keep(text, context)
  if (!(error instanceof Failure)) {
    context.output.notice(words)
    return error
  }
  const hint = error.hint ?? (error.status === 401 ? context.refusalHint() : undefined)
  return error.reworded(error.message, [hint, words].filter((part) => part !== undefined).join(' '))
}

function keep(text: string, context: Context): string {
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-')
  const name = `settings-${time}.yaml`
  // What was typed is worth more than the place where it belongs.
  const places = [() => join(stateFolder(), 'edits'), () => mkdtempSync(join(tmpdir(), 'chatctl-'))]
  let trouble: unknown
  for (const place of places) {
    try {
      const path = join(place(), name)
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
      return `What you edited is kept: ${commandFor(context, 'settings', 'apply', path)}`
    } catch (error) {
      trouble = error
    }
  }
  return `What you edited could not be kept: ${systemWords(trouble)}`
}
