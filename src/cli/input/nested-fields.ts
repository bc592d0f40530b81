import { Failure } from '../../contract/failure.ts'
import { readTypedValue } from './key-values.ts'

/** A value, and the key at which it belongs: `a.b`, `a\.b` for a dot in a name, `a[]` for an item of a list. */
export interface NestedField {
  key: string
  value: unknown
}

/**
 * The JSON object of `KEY=TEXT` and `KEY:=JSON` pairs, in which `a.b` is field b of the object a.
 *
 * @param flag for errors
 * @throws Failure `usage`
 */
export function parseNestedFields(pairs: readonly string[], flag: string): Record<string, unknown> {
  return nestFields(
    pairs.map((pair) => parseNestedField(pair, flag)),
    `${flag} `,
  )
}

/** In a key, `\=` and `\:` are no separators. */
const separated = /^((?:\\[\s\S]|[^\\=])*?)(:?)=([\s\S]*)$/

function parseNestedField(pair: string, flag: string): NestedField {
  const [, key = '', colon = '', text = ''] = separated.exec(pair) ?? []
  if (key === '') throw new Failure('usage', `${flag} "${pair}" is not KEY=TEXT or KEY:=JSON`)
  return { key, value: colon === '' ? text : readTypedValue(key, text, flag) }
}

/** What is at one name of an object: one of the three. */
interface Place {
  /** The key that was given first. */
  key: string
  fields?: Map<string, Place>
  items?: unknown[]
  value?: unknown
}

/**
 * @param prefix of a key in errors
 * @throws Failure `usage` for an invalid key, one that was given twice, and two that exclude each other
 */
export function nestFields(fields: readonly NestedField[], prefix: string): Record<string, unknown> {
  const root = new Map<string, Place>()
  for (const { key, value } of fields) {
    const { groups, name, isItem } = readKey(key, prefix)
    let group = root
    for (const step of groups) {
      const place: Place = group.get(step) ?? { key, fields: new Map() }
      if (!place.fields) throw contradiction(place.key, key)
      group.set(step, place)
      group = place.fields
    }
    const known = group.get(name)
    if (!known) group.set(name, isItem ? { key, items: [value] } : { key, value })
    else if (isItem && known.items) known.items.push(value)
    else if (known.key === key) throw new Failure('usage', `${prefix}${key} was given twice`)
    else throw contradiction(known.key, key)
  }
  return objectOf(root)
}

function objectOf(places: ReadonlyMap<string, Place>): Record<string, unknown> {
  return Object.fromEntries(
    [...places].map(([name, { fields, items, value }]) => [
      name,
      fields ? objectOf(fields) : (items ?? value),
    ]),
  )
}

function contradiction(first: string, second: string): Failure {
  return new Failure('usage', `Two keys contradict each other: ${first} and ${second}`, {
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
