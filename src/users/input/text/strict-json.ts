import { isRecord, longNumber, parseJson } from '../../../contract/notation/exact-json.ts'
import { type JsonFault, type LocatedJson, locateJson } from '../../../contract/notation/locate-json.ts'
import { plainValue } from '../../../contract/notation/located.ts'

/** A JSON text without repeated names, or its first fault. */
export type StrictJson = { value: unknown } | { fault: { at: number; message: string } }

/** Maximum levels for which places are found. A valid row has about 100. */
const bounds = { depth: 1_000 }

/** Where the values of a JSON text are. */
export function locateValues(text: string): LocatedJson {
  return locateJson(text, bounds)
}

/** @param locate `locateValues` of the same text, which a caller may keep */
export function readStrictJson(text: string, locate = () => locateValues(text)): StrictJson {
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    const { fault = { at: 0, expected: 'value' } } = locate()
    return { fault: { at: fault.at, message: `invalid JSON: ${wordsOf(fault, text)}` } }
  }
  const isMisread = text.includes('\\') && escapedName.test(text)
  if (!isMisread && (text.match(name)?.length ?? 0) === countNames(value, bounds.depth)) return { value }
  const {
    root,
    fault,
    repeated: [repeated],
  } = locate()
  if (!repeated) return { value: isMisread && root && !fault ? plainValue(root) : value }
  return { fault: { at: repeated.at, message: `duplicate key ${JSON.stringify(repeated.name)}` } }
}

/** A text without duplicate names has as many as its value. Seven times as fast as finding the names. */
const name = /"[ \t\r\n]*:/g
/**
 * JSON.parse of V8 may read a name with an escape as an earlier name with a backslash
 * (https://github.com/nodejs/node/issues/63785).
 */
const escapedName = /"[ \t\r\n]*:(?<=\\"?[^"]*"[ \t\r\n]*:)/

/** @returns NaN if the value has more levels */
function countNames(value: unknown, levels: number): number {
  if (levels < 0) return Number.NaN
  if (Array.isArray(value)) return value.reduce((sum, item) => sum + countNames(item, levels - 1), 0)
  if (!isRecord(value)) return 0
  const inner = Object.values(value)
  return inner.reduce<number>((sum, item) => sum + countNames(item, levels - 1), inner.length)
}

/** The message of `JSON.parse` may quote a password, and does not always contain the place. */
function wordsOf({ at, expected }: JsonFault, text: string): string {
  const isText = expected.startsWith('name') && text.charAt(at) === '"'
  const isWord = expected.startsWith('value') && /^[^{}[\],:]/.test(text.charAt(at))
  return isText || isWord ? notJson : jsonWords[expected]
}

/** The end of the message for a text that is not in quotes. */
export const notJson = 'not a JSON value'

const jsonWords: Record<JsonFault['expected'], string> = {
  value: 'expected a value',
  'value or ]': 'expected a value or the end of the list',
  name: 'expected a key in double quotes',
  'name or }': 'expected a key in double quotes or the end of the object',
  colon: 'expected a colon',
  'comma or }': 'expected a comma or the end of the object',
  'comma or ]': 'expected a comma or the end of the list',
  'end of text': 'unexpected text after the value',
  'less depth': `nested deeper than ${bounds.depth} levels`,
  'fewer values': 'too many values',
  'shorter number': longNumber,
}
