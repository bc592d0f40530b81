import * as z from 'zod/mini'
import { type Message, message } from '../contract/completion.ts'
import { faultsOf } from '../contract/faults.ts'
import { Failure } from '../failure.ts'
import type { Context } from './create-context.ts'
import { readDocument } from './read-document.ts'
import { readTextFile } from './read-input.ts'

/**
 * A conversation from a file: a JSON or YAML array of role and content, an object with such an
 * array as `messages`, or JSONL with one message a line.
 *
 * @throws Failure `refused` naming every message that is not one
 */
export async function readMessages(path: string, context: Context): Promise<Message[]> {
  const value = path.endsWith('.jsonl') ? readLines(path) : await readDocument(path, context)
  const list = typeof value === 'object' && value !== null && 'messages' in value ? value.messages : value
  const parsed = z.safeParse(z.array(message), list)
  if (parsed.success) return parsed.data
  const faults = faultsOf(parsed.error)
  const words = faults.map((fault) => `${fault.path || 'the whole of it'} ${fault.message}`).join('; ')
  throw new Failure('refused', `${path}: ${words}`, { details: { faults } })
}

function readLines(path: string): unknown[] {
  return readTextFile(path)
    .split('\n')
    .flatMap((line, index) => {
      if (line.trim() === '') return []
      try {
        return [JSON.parse(line) as unknown]
      } catch (cause) {
        throw new Failure('refused', `${path}, line ${index + 1}: ${(cause as Error).message}`, { cause })
      }
    })
}
