import { expect } from 'chai'
import fc from 'fast-check'
import {
  fillTemplate,
  parseTemplate,
  type Template,
  variablesOf,
} from '../../../src/config/prompts/prompt-file.ts'

/** Text rich in the characters of the syntax. */
const literal = fc.string({
  unit: fc.constantFrom('{', '}', '\\', 'a', ' ', '\n', '\r', '"', 'é', '🙂'),
  minLength: 1,
})
const name = fc.stringMatching(/^[A-Za-z_][\w-]{0,8}$/)
const variable = name.map((one) => ({ variable: one }))
const template: fc.Arbitrary<Template> = fc.array(fc.oneof(literal, variable)).map(mergeLiterals)

function mergeLiterals(parts: Template): Template {
  const merged: (string | { variable: string })[] = []
  for (const part of parts) {
    const last = merged.at(-1)
    if (typeof part === 'string' && typeof last === 'string') merged[merged.length - 1] = last + part
    else merged.push(part)
  }
  return merged
}

/** The source of a template, by the rules of its documentation. */
function write(parts: Template, space = ''): string {
  return parts
    .map((part, index) => {
      if (typeof part !== 'string') return `{{${space}${part.variable}${space}}}`
      const source = part.replaceAll(
        /(\\*)(\{{2,})/g,
        (_, backslashes: string, braces: string) =>
          backslashes + backslashes + '\\{{'.repeat(braces.length / 2) + (braces.length % 2 ? '{' : ''),
      )
      const isBeforeVariable = parts[index + 1] !== undefined
      // A single brace before a variable belongs to its run of braces.
      return isBeforeVariable ? source.replace(/(\\+)(?=(?<!\\\{)\{?$)/, (run) => run + run) : source
    })
    .join('')
}

describe('a template', () => {
  it('is read as it was written, with any text and white space inside the braces', () =>
    fc.assert(
      fc.property(template, fc.constantFrom('', ' ', '\t '), (parts, space) => {
        const { template: found, faults } = parseTemplate(write(parts, space))
        expect(faults).to.deep.equal([])
        expect(found).to.deep.equal(parts)
      }),
    ))

  it('has no variable left after it is filled, and does not read values as templates', () =>
    fc.assert(
      fc.property(template, fc.string(), (parts, value) => {
        const values = new Map(variablesOf(parts).map((one) => [one, `{{${value}}}`]))
        const expected = parts.map((part) => (typeof part === 'string' ? part : `{{${value}}}`)).join('')
        expect(fillTemplate(parseTemplate(write(parts)).template, values)).to.equal(expected)
      }),
    ))

  it('names its variables once, in the order of their first use', () => {
    const { template: parts } = parseTemplate('{{b}} {{a}} {{ b }} \\{{c}} {{{d}}}')
    expect(variablesOf(parts)).to.deep.equal(['b', 'a', 'd'])
    const shown = fillTemplate(parts, new Map(Object.entries({ a: '1', b: '2', d: '3' })))
    expect(shown).to.equal('2 1 2 {{c}} {3}')
  })

  for (const text of ['{{', '{{}}', '{{ }}', '{{a b}}', '{{a.b}}', '{{1}}', '{{a\n}}', '{{a}', '{{#if a}}'])
    it(`reports ${JSON.stringify(text)}, which is not a variable`, () => {
      const { faults } = parseTemplate(`x\n${text}`)
      expect(faults.map(({ at }) => at)).to.deep.equal([2])
      expect(faults[0]?.words).to.contain('is not a variable such as {{language}}')
      expect(faults[0]?.words).not.to.contain('\n')
    })
})
