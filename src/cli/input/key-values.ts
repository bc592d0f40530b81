import { Failure } from '../../contract/failure.ts'
import { parseJson } from '../../contract/notation/exact-json.ts'
import { booleanWords, parseBoolean } from '../../contract/notation/text-value.ts'

const plainPair = /^([^=]*?)(:?)=([\s\S]*)$/
/** In the key of a nested field, `\=` and `\:` are no separators. */
const nestedPair = /^((?:\\[\s\S]|[^\\=])*?)(:?)=([\s\S]*)$/

function parsePair(pair: string, flag: string, pattern = plainPair) {
  const [, key = '', colon = '', text = ''] = pattern.exec(pair) ?? []
  if (key === '') throw new Failure('usage', `${flag} "${pair}" is not KEY=TEXT or KEY:=JSON`)
  const isTyped = colon !== ''
  return { key, isTyped, value: isTyped ? readTypedValue(key, text, flag) : text }
}

/** `key=text`, or `key:=json` for any other type. @param flag for errors. @throws Failure `usage` */
export function parseKeyValues(pairs: readonly string[], flag: string): Record<string, unknown> {
  const fields = pairs.map((pair) => parsePair(pair, flag))
  return fromFields(fields, flag)
}

function fromFields(fields: readonly NestedField[], flag: string): Record<string, unknown> {
  const keys = fields.map(({ key }) => key)
  const repeated = keys.find((key, index) => keys.indexOf(key) < index)
  if (repeated !== undefined) throw new Failure('usage', `${flag} ${repeated} was given twice`)
  if (keys.includes('__proto__')) throw new Failure('usage', `${flag} cannot be named __proto__`)
  return Object.fromEntries(fields.map(({ key, value }) => [key, value]))
}

/** The value of `KEY:=JSON`. @throws Failure `usage` */
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

/** `key=on` or `key=off`, or `key:=json` for any other type. @throws Failure `usage` */
export function parseSwitches(pairs: readonly string[], flag: string): Record<string, unknown> {
  const fields = pairs.map((pair) => {
    const { key, isTyped, value } = parsePair(pair, flag)
    const enabled = isTyped ? value : parseBoolean(String(value))
    if (enabled !== undefined) return { key, value: enabled }
    throw new Failure('usage', `${flag} ${key}: "${value}" must be ${booleanWords}`, {
      hint: `Give a switch as ${flag} ${key}=on, or another type as ${key}:=JSON`,
    })
  })
  return fromFields(fields, flag)
}

/** A value, and the key at which it belongs: `a.b`, `a\.b` for a dot in a name, `a[]` for an item of a list. */
export interface NestedField {
  key: string
  value: unknown
}

/**
 * The JSON object of `KEY=TEXT` and `KEY:=JSON` pairs, in which `a.b` is field b of the object a.
 * @param flag for errors
 * @throws Failure `usage`
 */
export function parseNestedFields(pairs: readonly string[], flag: string): Record<string, unknown> {
  return nestFields(
    pairs.map((pair) => parsePair(pair, flag, nestedPair)),
    `${flag} `,
  )
}

/**
 * @param prefix of a key in errors
 * @throws Failure `usage` for an invalid key, one that was given twice, and two that exclude each other
 */
export function nestFields(fields: readonly NestedField[], prefix: string): Record<string, unknown> {
  const root: Record<string, unknown> = {}
  /** The objects and lists that keys have made, rather than values. */
  const made = new Set<unknown>()
  for (const { key, value } of fields) {
    const { groups, name, isItem } = readKey(key, prefix)
    let group = root
    for (const step of groups) {
      const inner = Object.hasOwn(group, step) ? group[step] : {}
      if (!Object.hasOwn(group, step)) made.add(inner)
      if (!made.has(inner) || Array.isArray(inner)) throw contradiction(key, prefix)
      group[step] = inner
      group = inner as Record<string, unknown>
    }
    const known = Object.hasOwn(group, name) ? group[name] : undefined
    if (isItem && made.has(known) && Array.isArray(known)) known.push(value)
    else if (Object.hasOwn(group, name)) throw contradiction(key, prefix)
    else {
      group[name] = isItem ? [value] : value
      if (isItem) made.add(group[name])
    }
  }
  return root
}

function contradiction(key: string, prefix: string): Failure {
  return new Failure('usage', `${prefix}${key} was given twice, or contradicts another key`, {
    hint: 'A key has one value, a list (KEY[]), or an object (KEY.KEY).',
  })
}

function readKey(key: string, prefix: string): { groups: string[]; name: string; isItem: boolean } {
  const [, listKey] = /^((?:\\[\s\S]|[^\\])*)\[\]$/.exec(key) ?? []
  const steps = ['']
  for (const [unit] of (listKey ?? key).matchAll(/\\?[\s\S]/g)) {
    if (unit === '.') steps.push('')
    else steps[steps.length - 1] += /^\\[.=:[\\]$/.test(unit) ? unit.slice(1) : unit
  }
  if (steps.includes('')) {
    throw new Failure('usage', `${prefix}${key} has an empty name`, {
      hint: 'A dot separates names. For a dot in a name, use: \\.',
    })
  }
  if (steps.includes('__proto__')) throw new Failure('usage', `${prefix}cannot be named __proto__`)
  return { groups: steps.slice(0, -1), name: steps.at(-1) ?? '', isItem: listKey !== undefined }
}
