import * as z from 'zod/mini'
import { type Message, message } from '../../contract/completion.ts'
import { faultsOf } from '../../contract/faults.ts'
import { Failure } from '../../failure.ts'
import type { Context } from '../create-context.ts'
import { readDocument } from './read-document.ts'
import { readTextFile } from './read-input.ts'

/** What stands in a file, and how a place in it is named. */
interface Conversation {
  name: string
  list: unknown
  placeOf(index: number): string
}

/**
 * A conversation from a file: a JSON or YAML array of role and content, an object with such an
 * array as `messages`, or JSONL with one message a line.
 *
 * @throws Failure `refused` naming every message that is not one
 */
export async function readMessages(path: string, context: Context): Promise<Message[]> {
  const { name, list, placeOf } = path.endsWith('.jsonl') ? readLines(path) : await readList(path, context)
  const parsed = z.safeParse(z.array(message), list)
  if (parsed.success) return parsed.data
  const faults = faultsOf(parsed.error)
  const words = faults.map((fault) => {
    const [index, ...rest] = fault.path === '' ? [] : fault.path.split('.')
    return index === undefined
      ? `the messages ${fault.message}`
      : `${rest.length === 0 ? '' : `${rest.join('.')} of `}${placeOf(Number(index))} ${fault.message}`
  })
  throw new Failure('refused', `${name}: ${words.join('; ')}`, { details: { faults } })
}

async function readList(path: string, context: Context): Promise<Conversation> {
  const { value, name } = await readDocument(path, context)
  const list = typeof value === 'object' && value !== null && 'messages' in value ? value.messages : value
  return { name, list, placeOf: (index) => `message ${index + 1}` }
}

function readLines(path: string): Conversation {
  const lines = readTextFile(path)
    .split('\n')
    .map((text, index) => ({ text, number: index + 1 }))
    .filter(({ text }) => text.trim() !== '')
  const list = lines.map(({ text, number }) => {
    try {
      return JSON.parse(text) as unknown
    } catch (cause) {
      throw new Failure('refused', `${path}: line ${number}: ${(cause as Error).message}`, { cause })
    }
  })
  return { name: path, list, placeOf: (index) => `line ${lines[index]?.number}` }
}
