import { parseJson, tryParse } from '../../../contract/notation/exact-json.ts'
import { locateJson } from '../../../contract/notation/locate-json.ts'
import { placesIn } from '../../../contract/notation/located.ts'

/** A JSON value as the model wrote it; or why there is none, as the end of a sentence about the reply. */
type Found = { text: string; value: unknown } | { fault: string }

const bounds = { depth: 1_000 }
const none = { fault: 'it contains no JSON value' }

/**
 * The one JSON value of a reply: the whole reply, the only code block that is JSON or has no language, or an object or
 * array with words around it. A value that is only perhaps the right one is refused.
 */
export function findValue(reply: string): Found {
  const whole = read(reply, 0)
  if ('value' in whole) return whole
  const blocks = findBlocks(reply)
  if (blocks.length > 1) return { fault: `it contains ${blocks.length} code blocks` }
  const [block] = blocks
  return block ? read(reply, block.at, block.code) : findInProse(reply)
}

/** The code blocks that are JSON or have no language. No line of JSON begins with a fence. */
function findBlocks(reply: string): { at: number; code: string }[] {
  const blocks = []
  let open: { fence: string; at: number; code: string } | undefined
  let at = 0
  for (const line of reply.split('\n')) {
    at += line.length + 1
    const text = line.trim()
    const [fence = ''] = /^(?:`{3,}|~{3,})/.exec(text) ?? []
    if (open && fence.startsWith(open.fence)) open = undefined
    else if (open) open.code += `${line}\n`
    else if (fence !== '') {
      open = { fence, at, code: '' }
      if (/^(json\w*)?$/i.test(text.slice(fence.length).trim())) blocks.push(open)
    }
  }
  return blocks
}

/** Words may contain numbers and strings by chance, so only an object or an array is a value among them. */
function findInProse(reply: string): Found {
  const at = reply.search(/[[{]/)
  if (at === -1) return none
  // 0 if it has no closing bracket.
  const length = locateJson(reply.slice(at), bounds).root?.end ?? 0
  const quotes = reply.slice(0, at).match(/(?<!\\)"/g) ?? []
  if (length > 0 && quotes.length % 2 === 1) return { fault: 'it contains JSON in quotation marks' }
  if (length > 0 && /[[{]/.test(reply.slice(at + length))) return { fault: 'it contains several JSON values' }
  return read(reply, at, reply.slice(at, length > 0 ? at + length : undefined))
}

/** Reads the part of a reply that begins at `at`. */
function read(reply: string, at: number, part = reply): Found {
  const text = part.trim()
  const source = part.trimEnd()
  const { fault } = locateJson(source, bounds)
  const value = fault ? undefined : tryParse(text, parseJson)
  if (value !== undefined) return { text, value }
  if (text === '') return none
  const { at: from, words } = fault ?? { at: 0, words: 'expected a JSON value' }
  const { line, column } = placesIn(reply)(at + from)
  const place = `line ${line}, column ${column}`
  if (from >= source.length) return { fault: `its JSON ends too early, at ${place}` }
  return { fault: `its JSON is invalid at ${place}: ${words}` }
}
