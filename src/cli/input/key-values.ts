import { Failure } from '../../contract/failure.ts'
import { parseJson } from '../../contract/notation/exact-json.ts'
import { booleanWords, parseBoolean } from '../../contract/notation/text-value.ts'

/**
 * `key=text`, or `key:=json` for any other type.
 *
 * @param flag for errors
 * @throws Failure `usage`
 */
export function parseKeyValues(pairs: readonly string[], flag: string): Record<string, unknown> {
  return fromPairs(
    pairs.map((pair) => parseKeyValue(pair, flag)),
    flag,
  )
}

function fromPairs(pairs: [string, unknown][], flag: string): Record<string, unknown> {
  const keys = pairs.map(([key]) => key)
  const repeated = keys.find((key, index) => keys.indexOf(key) < index)
  if (repeated === undefined) return Object.fromEntries(pairs)
  throw new Failure('usage', `${flag} ${repeated} was given twice`)
}

function parseKeyValue(pair: string, flag: string): [string, unknown] {
  const at = pair.indexOf('=')
  const typed = isTyped(pair)
  const key = pair.slice(0, typed ? at - 1 : at)
  if (at < 1 || key === '') {
    throw new Failure('usage', `${flag} "${pair}" is not KEY=TEXT or KEY:=JSON`)
  }
  if (key === '__proto__') throw new Failure('usage', `${flag} cannot be named __proto__`)
  const text = pair.slice(at + 1)
  return [key, typed ? readTypedValue(key, text, flag) : text]
}

/**
 * The value of `KEY:=JSON`.
 *
 * @throws Failure `usage`
 */
export function readTypedValue(key: string, text: string, flag: string): unknown {
  try {
    return parseJson(text)
  } catch (cause) {
    throw new Failure('usage', `${flag} ${key}: "${text}" is not valid JSON`, {
      hint: `Give text as: ${key}=${text}`,
      cause,
    })
  }
}

/**
 * `key=on` or `key=off`, or `key:=json` for any other type.
 *
 * @throws Failure `usage`
 */
export function parseSwitches(pairs: readonly string[], flag: string): Record<string, unknown> {
  return fromPairs(
    pairs.map((pair) => parseSwitch(pair, flag)),
    flag,
  )
}

function parseSwitch(pair: string, flag: string): [string, unknown] {
  const [key, value] = parseKeyValue(pair, flag)
  if (isTyped(pair)) return [key, value]
  const enabled = parseBoolean(String(value))
  if (enabled !== undefined) return [key, enabled]
  throw new Failure('usage', `${flag} ${key}: "${value}" must be ${booleanWords}`, {
    hint: `Give a switch as ${flag} ${key}=on, or another type as ${key}:=JSON`,
  })
}

function isTyped(pair: string): boolean {
  const at = pair.indexOf('=')
  return at > 0 && pair[at - 1] === ':'
}
