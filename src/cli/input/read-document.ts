import * as z from 'zod/mini'
import { Failure } from '../../contract/failure.ts'
import { faultsOf } from '../../contract/faults.ts'
import { parseJson } from '../../contract/notation/exact-json.ts'
import { placesIn, plainValue } from '../../contract/notation/located.ts'
import { type Message, message } from '../../contract/resources/completion.ts'
import { maxTextBytes } from '../../system/files/read-named-file.ts'
import type { Context } from '../context/context.ts'
import { readStdin, readTextFile } from './read-input.ts'

/** A document and what to call it in errors. */
interface Document {
  value: unknown
  name: string
}

/**
 * A value from a YAML or JSON file, or from stdin for `-`. YAML reads JSON too, but what is wrong
 * with JSON only a JSON parser says well.
 * @throws Failure `refused` naming line and column
 */
export async function readDocument(path: string, context: Context, maxBytes: number): Promise<Document> {
  if (path !== '-') return parseDocument(path, readTextFile(path, context, maxBytes))
  const text = await readStdin('a YAML or JSON document', context, maxBytes)
  return parseDocument('stdin', text)
}

/** @param name of the text, for errors; one that ends in .json is read as JSON alone */
async function parseDocument(name: string, text: string): Promise<Document> {
  const { listBounds, locateYaml, UnreadableFile } = await import('../../contract/notation/locate-yaml.ts')
  try {
    if (name.endsWith('.json')) return { value: parseJson(text), name }
    return { value: plainValue(locateYaml(text, listBounds), true), name }
  } catch (cause) {
    const [fault] = cause instanceof UnreadableFile ? cause.faults : []
    const { line, column } = placesIn(text)(fault?.at ?? 0)
    const place = fault ? `${name}:${line}:${column}` : name
    throw new Failure('refused', `${place}: ${(cause as Error).message.split('\n')[0]}`, { cause })
  }
}

/** The content of a file, and the names of places in it. */
interface Conversation {
  name: string
  list: unknown
  placeOf(index: number): string
}

/**
 * A conversation from a file: a JSON or YAML array of role and content, an object with such an
 * array as `messages`, or JSONL with one message a line.
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
