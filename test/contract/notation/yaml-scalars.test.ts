import { expect } from 'chai'
import fc from 'fast-check'
import { CORE_SCHEMA, load, YAML11_SCHEMA } from 'js-yaml'
import yaml from 'yaml'
import { ExactNumber, parseJson } from '../../../src/contract/notation/exact-json.ts'
import { yamlReading, yamlWriting } from '../../../src/contract/notation/yaml-scalars.ts'
import { readSettingsFiles } from '../../../src/settings/file/read-settings-files.ts'
import { settingsFileView } from '../../../src/view/settings-file-view.ts'
import { anyJsonText, anyText } from '../any-json.ts'

const write = (value: unknown) => yaml.stringify(value, yamlWriting(value))
const read = (text: string) => yaml.parseDocument(text, yamlReading)

/** The value with the nearest doubles, as other readers have it. */
function doubles(text: string): unknown {
  return JSON.parse(text, (_, value) => (Object.is(value, -0) ? 0 : value))
}

describe('YAML', () => {
  it('written by chatctl is read back by chatctl with the same numbers', () => {
    fc.assert(
      fc.property(anyJsonText, (text) => {
        const document = read(write(parseJson(text)))
        expect(document.errors).to.deep.equal([])
        expect(withOneSpelling(document.toJS())).to.equal(withOneSpelling(parseJson(text)))
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  for (const [name, schema] of [
    ['1.2', CORE_SCHEMA],
    ['1.1', YAML11_SCHEMA],
  ] as const) {
    it(`written by chatctl means the same to another reader of YAML ${name}`, () => {
      fc.assert(
        fc.property(anyJsonText, (text) => {
          const wanted = doubles(text)
          // js-yaml reads a number that is too large for a double as a text.
          fc.pre(!isHuge(wanted))
          const found = load(write(parseJson(text)), { schema })
          expect(JSON.stringify(found)).to.equal(JSON.stringify(wanted))
        }),
        { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
      )
    })
  }

  it('contains no character that readers reject or treat as a line break', () => {
    fc.assert(
      fc.property(anyJsonText, (text) => {
        expect(write(parseJson(text))).not.to.match(
          /[^\n\t\x20-\x7e\xa0-\u2027\u202a-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u,
        )
      }),
    )
  })

  it('of settings export is read back by settings apply with any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const file = String(settingsFileView.text?.({ app_name: text }))
        expect(readSettingsFiles([{ name: 's.yaml', text: file }]).settings).to.deep.equal({ app_name: text })
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  for (const [text, json] of [
    ['9007199254740993', '9007199254740993'],
    ['+012', '12'],
    ['-.5', '-0.5'],
    ['5.', '5'],
    ['1.50', '1.50'],
    ['1E400', '1E400'],
    ['0x20000000000001', '9007199254740993'],
    ['0o400000000000000001', '9007199254740993'],
    ['!!int 9007199254740993', '9007199254740993'],
    ['!!float 1234567890123456789', '1234567890123456789'],
    ['!!str 1.0', '"1.0"'],
    ['{1234567890123456789: 1}', '{"1234567890123456789":1}'],
    ['{1.0: 1}', '{"1.0":1}'],
  ] as const) {
    it(`with the value ${text} is sent as ${json}`, () => {
      expect(JSON.stringify(read(text).toJS())).to.equal(json)
    })
  }

  it('is rejected if a name occurs twice, quoted or as a number', () => {
    for (const text of ['1.0: a\n1.0: b\n', '1: a\n"1": b\n']) {
      expect(read(text).errors.map(({ code }) => code)).to.deep.equal(['DUPLICATE_KEY'])
    }
  })
})

/** Readers of YAML 1.1 require a decimal point and a sign in a number with an exponent. */
function withOneSpelling(value: unknown): string {
  return JSON.stringify(value, (_, inner) => {
    const source = inner === null || typeof inner !== 'object' ? undefined : Reflect.get(inner, 'rawJSON')
    if (typeof source !== 'string' || !/e/i.test(source)) return inner
    return new ExactNumber(
      source
        .toLowerCase()
        .replace(/^(-?\d+)e/, '$1.0e')
        .replace(/e(?=\d)/, 'e+'),
    )
  })
}

function isHuge(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === Infinity || value === -Infinity
  return Object.values(value).some(isHuge)
}
