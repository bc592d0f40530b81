import { expect } from 'chai'
import fc from 'fast-check'
import yaml from 'yaml'
import { fillPrompt } from '../../../src/config/prompts/fill-prompt.ts'
import {
  fillTemplate,
  parsePrompt,
  parseTemplate,
  type Template,
  variablesOf,
} from '../../../src/config/prompts/prompt-file.ts'
import { yamlWriting } from '../../../src/contract/notation/yaml-scalars.ts'
import { thrownFailure } from '../../support/thrown-failure.ts'

const filling = { name: 'p', values: new Map(), input: '', hintFor: () => '' }

/** Text that contains no template syntax, and is not blank. */
const text = fc.string({ unit: 'grapheme' }).filter((one) => one.trim() !== '' && !one.includes('{{'))
const matter = fc.record(
  {
    model: text,
    temperature: fc.integer({ min: -200, max: 200 }).map((one) => one / 100 || 0),
    max_tokens: fc.maxSafeInteger(),
    system: text,
  },
  { requiredKeys: [] },
)

describe('a prompt file', () => {
  it('is read as it was written: front matter by a YAML library, and a body', () =>
    fc.assert(
      fc.property(matter, text, fc.constantFrom('\n', '\r\n'), (given, body, newline) => {
        const own = Object.keys(given).length === 0 ? '' : yaml.stringify(given, yamlWriting(given))
        const file = `---\n${own}---\n${body}`.replaceAll('\n', newline)
        const asWritten = body.replaceAll('\n', newline)
        const { message, maxTokens, ...found } = fillPrompt(parsePrompt('p.md', file), filling)
        expect(message).to.equal(asWritten.replace(/^(?:[ \t]*\r?\n)+/, '').trimEnd())
        const { max_tokens, ...others } = given
        expect([maxTokens, found]).to.deep.equal([max_tokens, others])
      }),
    ))

  it('without front matter is a body, whatever it contains below its first line', () => {
    const prompt = parsePrompt('p.md', 'Rule:\n---\nmodel: x\n')
    expect(fillPrompt(prompt, filling)).to.deep.equal({ message: 'Rule:\n---\nmodel: x' })
  })

  it('may consist of parameters alone, and then the message is the text of the user', () => {
    const prompt = parsePrompt('p.md', '---\nsystem: You are {{who}}.\n---\n')
    expect(prompt).to.deep.include({ variables: ['who'], description: 'You are {{who}}.' })
    const filled = fillPrompt(prompt, { ...filling, values: new Map([['who', 'Ada']]), input: 'Hi' })
    expect(filled).to.deep.equal({ system: 'You are Ada.', message: 'Hi' })
  })

  it('takes the text of the user at {{input}}, or else after a blank line', () => {
    const fill = (body: string) =>
      fillPrompt(parsePrompt('p.md', body), { ...filling, input: 'a {{b}}' }).message
    expect(fill('> {{input}} <')).to.equal('> a {{b}} <')
    expect(fill('Review:\n')).to.equal('Review:\n\na {{b}}')
  })

  it('has its first line as description, without the marks of a heading', () =>
    expect(parsePrompt('p.md', '\n\n## Review a change\n\nmore').description).to.equal('Review a change'))

  const faulty: [text: string, ...messages: string[]][] = [
    ['---\nmode: x\n---\n', 'p.md:2:1: mode is an unknown key; did you mean model?'],
    ['---\nmaxTokens: 1\n---\n', 'p.md:2:1: maxTokens is an unknown key; did you mean max_tokens?'],
    ['---\nx: x\n---\n', 'p.md:2:1: x is an unknown key; known keys: model, temperature, max_tokens, system'],
    ['---\ntemperature: "1"\n---\n', 'p.md:2:14: temperature must be a number: remove the quotes'],
    ['---\ntemperature: .inf\n---\n', 'p.md:2:14: temperature must be a number'],
    ['---\ntemperature: 0.12345678901234567890123\n---\n', 'p.md:2:14: temperature must be a number'],
    ['---\nmax_tokens: 1.5\n---\n', 'p.md:2:13: max_tokens must be an integer'],
    ['---\nmax_tokens: 9007199254740993\n---\n', 'p.md:2:13: max_tokens must be an integer'],
    ['---\nmodel: 4\n---\n', 'p.md:2:8: model must be a string: put it in quotes'],
    ['---\nmodel:\n---\n', 'p.md:2:1: model has no value'],
    ['---\nmodel: " "\n---\n', 'p.md:2:8: model must not be empty'],
    ['---\nmodel: a\nmodel: b\n---\n', 'p.md:3:1: duplicate key model'],
    ['---\n- model\n---\n', 'p.md:2:1: the front matter must consist of keys and values, such as model: ID'],
    ['---\nmodel: a\n', 'p.md:1:1: the front matter has no end: add a line with ---'],
    [
      '---\nsystem: {{who}}\n---\n',
      'p.md:2:10: a key must not be a map or a list; put a value that begins with {{ in quotes',
    ],
    [
      '---\nsystem: {{who}} x\n---\n',
      'p.md:2:17: Unexpected scalar at node end; put a value that begins with {{ in quotes',
    ],
    ['---\nsystem: a {{input}}\n---\n', 'p.md:2:9: system cannot contain {{input}}, which is the message'],
    [
      '---\r\nmode: x\r\n---\r\n\r\nHi {{a b}}',
      'p.md:2:1: mode is an unknown key; did you mean model?',
      'p.md:5:4: {{a b}} is not a variable such as {{language}}; write \\{{ for a literal {{',
    ],
  ]
  for (const [file, ...messages] of faulty)
    it(`is refused with every fault and its place: ${JSON.stringify(file)}`, () => {
      const { kind, message } = thrownFailure(() => parsePrompt('p.md', file))
      expect(kind).to.equal('refused')
      expect(message.split('\n').filter((line) => line.startsWith('p.md'))).to.deep.equal(messages)
    })

  it('is refused if it is empty', () => {
    for (const file of ['', '\n \n', '---\n---\n', '---\n# a comment\n---\n'])
      expect(thrownFailure(() => parsePrompt('p.md', file)).message).to.equal('p.md contains no prompt')
  })
})

describe('filling a prompt', () => {
  const prompt = parsePrompt('p.md', '---\nsystem: "{{tone}}"\n---\n{{language}} {{level}}')
  const fill = (values: Record<string, string>) => () =>
    fillPrompt(prompt, {
      ...filling,
      values: new Map(Object.entries(values)),
      hintFor: (missing) => `set ${missing.join(' and ')}`,
    })

  it('names every variable that has no value', () => {
    const message = 'Prompt "p" needs a value for language, tone'
    const failure = thrownFailure(fill({ level: 'B1' }))
    expect(failure).to.include({ kind: 'usage', message, hint: 'set language and tone' })
  })

  it('names every value that has no variable, and the nearest variable', () => {
    const { message, hint } = thrownFailure(fill({ languages: '', x: '' }))
    expect(message).to.equal('Prompt "p" has no variable languages, x (its variables: language, level, tone)')
    expect(hint).to.equal('Did you mean language?')
  })

  it('takes an empty value', () =>
    expect(fill({ language: '', level: 'B1', tone: 'x' })().message).to.equal(' B1'))

  it('does not let the message be set as a variable', () =>
    expect(thrownFailure(fill({ input: 'x' })).message).to.equal(
      'input is the message, not a variable that can be set',
    ))

  it('requires a message if the body contains {{input}}', () => {
    const { message } = thrownFailure(() => fillPrompt(parsePrompt('p.md', '{{input}}'), filling))
    expect(message).to.equal('Prompt "p" needs a message: it contains {{input}}')
  })
})

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
