import * as z from 'zod/mini'
import { Failure } from '../../contract/failure.ts'
import { faultsOf } from '../../contract/faults.ts'
import { type Message, message } from '../../contract/resources/completion.ts'
import { maxTextBytes } from '../../system/files/read-named-file.ts'
import type { Context } from '../context/context.ts'
import { type Document, parseDocument, readDocument } from './read-document.ts'
import { readStdin, readTextFile } from './read-input.ts'

/** The content of a file, and the names of places in it. */
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
  const { name, list, placeOf } = await readConversation(path, context)
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

async function readConversation(path: string, context: Context): Promise<Conversation> {
  if (path.endsWith('.jsonl')) return readLines(path, readTextFile(path, context))
  if (path !== '-') return readList(await readDocument(path, context, maxTextBytes))
  const text = await readStdin('the messages', context)
  // Several lines that each begin an object are neither a JSON document nor likely YAML.
  const isJsonl = text.split('\n').filter((line) => line.trim().startsWith('{')).length > 1
  return isJsonl ? readLines('stdin', text) : readList(await parseDocument('stdin', text))
}

function readList({ value, name }: Document): Conversation {
  const list = typeof value === 'object' && value !== null && 'messages' in value ? value.messages : value
  return { name, list, placeOf: (index) => `message ${index + 1}` }
}

function readLines(name: string, whole: string): Conversation {
  const lines = whole
    .split('\n')
    .map((text, index) => ({ text, number: index + 1 }))
    .filter(({ text }) => text.trim() !== '')
  const list = lines.map(({ text, number }) => {
    try {
      return JSON.parse(text) as unknown
    } catch (cause) {
      throw new Failure('refused', `${name}: line ${number}: ${(cause as Error).message}`, { cause })
    }
  })
  return { name, list, placeOf: (index) => `line ${lines[index]?.number}` }
}
