import { expect } from 'chai'
import * as fc from 'fast-check'
import { parseNestedFields } from '../../../src/cli/input/key-values.ts'
import { thrownFailure } from '../../support/thrown-failure.ts'

const parse = (...pairs: string[]) => parseNestedFields(pairs, '--field')

/** A name as a key has it. */
const escaped = (name: string): string => name.replace(/[\\.=:[]/g, '\\$&')

/** The fields of an object, with each string as text and everything else as JSON. */
const fieldsOf = (value: Record<string, unknown>, above = ''): string[] =>
  Object.entries(value).flatMap(([name, inner]) => {
    const key = above + escaped(name)
    if (typeof inner === 'string') return [`${key}=${inner}`]
    const isGroup = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
    if (isGroup && Object.keys(inner).length > 0) return fieldsOf(inner as Record<string, unknown>, `${key}.`)
    if (Array.isArray(inner) && inner.length > 0)
      return inner.map((item) => `${key}[]:=${JSON.stringify(item)}`)
    return [`${key}:=${JSON.stringify(inner)}`]
  })

describe('nested fields', () => {
  it('give back any object of which they are the fields', () => {
    const name = fc
      .oneof(fc.string({ minLength: 1 }), fc.constantFrom('a.b', 'a[]', ':', '=', '\\', '.', 'toString'))
      .filter((text) => text !== '__proto__')
    const { object } = fc.letrec<{ object: Record<string, unknown>; value: unknown }>((tie) => ({
      object: fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
      value: fc.oneof(
        { maxDepth: 3 },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(fc.oneof(fc.string(), fc.integer()), { maxLength: 3 }),
        tie('object'),
      ),
    }))
    fc.assert(
      fc.property(object, (value) => {
        expect(parse(...fieldsOf(value))).to.deep.equal(value)
      }),
    )
  })

  const examples: [string[], unknown][] = [
    [['a\\=b=c=d'], { 'a=b': 'c=d' }],
    [['a:b=c'], { 'a:b': 'c' }],
    [['a=b:=c'], { a: 'b:=c' }],
    [['C\\d=x'], { 'C\\d': 'x' }],
    [['a:={"b":1}'], { a: { b: 1 } }],
  ]
  for (const [pairs, value] of examples)
    it(`reads ${pairs.join(' ')} as ${JSON.stringify(value)}`, () =>
      expect(parse(...pairs)).to.deep.equal(value))

  const refused: [string[], string][] = [
    [['a=1', 'a.b=2'], '--field a.b was given twice, or contradicts another key'],
    [['a.b=2', 'a=1'], '--field a was given twice, or contradicts another key'],
    [['a[]=1', 'a=2'], '--field a was given twice, or contradicts another key'],
    [['a:={"b":1}', 'a.c=2'], '--field a.c was given twice, or contradicts another key'],
    [['a.b=1', 'a.b=1'], '--field a.b was given twice, or contradicts another key'],
    [['a..b=1'], '--field a..b has an empty name'],
    [['a.=1'], '--field a. has an empty name'],
    [['[]=1'], '--field [] has an empty name'],
    [['a.__proto__.b=1'], '--field cannot be named __proto__'],
    [['a'], '--field "a" is not KEY=TEXT or KEY:=JSON'],
    [['a\\=b'], '--field "a\\=b" is not KEY=TEXT or KEY:=JSON'],
    [[':=1'], '--field ":=1" is not KEY=TEXT or KEY:=JSON'],
    [['a.b:=x'], '--field a.b: "x" is not valid JSON'],
  ]
  for (const [pairs, words] of refused)
    it(`refuses ${pairs.join(' ')}`, () =>
      expect(thrownFailure(() => parse(...pairs))).to.include({ kind: 'usage', message: words }))
})
