import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import fc from 'fast-check'
import { Failure } from '../../src/contract/failure.ts'
import {
  apiConfigurationKeys,
  settingsJsonSchema,
  settingsKeys,
} from '../../src/contract/resources/settings-file.ts'
import { readSettingsFiles } from '../../src/settings/file/read-settings-files.ts'
import { anyConfiguration, anyPatch, anySubset } from './any-settings.ts'

interface Schema {
  type?: string
  description?: string
  properties?: Record<string, Schema>
  additionalProperties?: boolean
  anyOf?: Schema[]
}

describe('the JSON Schema of a settings file', () => {
  const { anyOf = [], ...top } = settingsJsonSchema() as Schema & Record<string, unknown>
  const [bare, named] = anyOf

  it('has a $schema, a title, and a description', () => {
    expect(top['$schema']).to.equal('https://json-schema.org/draft/2020-12/schema')
    expect(top['title']).to.be.a('string')
    expect(top.description).to.be.a('string')
  })

  it('has both layouts, with every key and nothing else', () => {
    const { $schema, $unmanaged, ...settings } = pathsOf(bare)
    expect({ $schema, $unmanaged }).to.deep.equal({ $schema: 'string', $unmanaged: 'object' })
    expect(settings).to.deep.equal(typesOf(settingsKeys, ''))
    expect(pathsOf(named)).to.deep.equal({
      $schema: 'string',
      $unmanaged: 'object',
      ...typesOf(settingsKeys, 'settings.'),
      ...typesOf(apiConfigurationKeys, 'api.'),
    })
  })

  it('describes every key', () => {
    const visit = (schema: Schema | undefined, path: string): void => {
      if (!schema?.properties) expect(schema?.description, path).to.match(/^[A-Z].{8}/)
      for (const [name, inner] of Object.entries(schema?.properties ?? {})) visit(inner, `${path}.${name}`)
    }
    visit(bare, '')
    visit(named, '')
  })

  describe('in comparison with the reader of settings files', () => {
    const accepts = new Ajv2020({ strict: false }).compile(settingsJsonSchema())
    const expectSame = (file: unknown): boolean => {
      const text = JSON.stringify(file)
      for (const name of ['settings.json', 'settings.yaml'])
        expect(isRead(name, text), `${name}: ${text}`).to.equal(accepts(file))
      return accepts(file)
    }

    for (const [file, isAccepted] of [
      [{}, false],
      [{ $schema: './settings.schema.json' }, false],
      [{ $unmanaged: { x: 1 } }, false],
      [{ theme: {} }, false],
      [{ settings: {} }, false],
      [{ api: {} }, false],
      [{ settings: { theme: {} }, api: { cors: {} } }, false],
      [null, false],
      [[], false],
      [{ app_name: 'x', theme: {} }, true],
      [{ theme: { mode: 'dark' } }, true],
      [{ settings: {}, api: { version: '2' } }, true],
      [{ settings: { limits: { max_tokens: 5 } }, api: {} }, true],
      [{ $schema: 'x', $unmanaged: { x: [null] }, app_name: '' }, true],
      [{ $unmanaged: 1, app_name: '' }, false],
    ] as const)
      it(`accepts or rejects the same, for example ${JSON.stringify(file)}`, () =>
        expect(expectSame(file)).to.equal(isAccepted))

    it('accepts or rejects the same for any file', () => {
      const counts = { accepted: 0, refused: 0 }
      fc.assert(
        fc.property(anyFile, (file) => {
          counts[expectSame(file) ? 'accepted' : 'refused']++
        }),
        { numRuns: 4 * (fc.readConfigureGlobal().numRuns ?? 100) },
      )
      expect(counts.accepted).to.be.above(20)
      expect(counts.refused).to.be.above(20)
    })
  })
})

function isRead(name: string, text: string): boolean {
  try {
    readSettingsFiles([{ name, text }])
    return true
  } catch (error) {
    if (error instanceof Failure) return false
    throw error
  }
}

type Json = Record<string, unknown>

/** A valid file in one of its two layouts, or such a file with up to two changes. */
const anyFile: fc.Arbitrary<unknown> = fc
  .tuple(
    fc.oneof(
      anyPatch,
      fc.record(
        { settings: anyPatch, api: anySubset(anyConfiguration) },
        { requiredKeys: [] },
      ) as fc.Arbitrary<object>,
    ),
    fc.array(
      fc.record({
        path: fc.constantFrom(
          ...['$schema', '$unmanaged', 'app_name', 'theme', 'theme.mode', 'theme.primary_color', 'limits'],
          ...['limits.max_tokens', 'features.chat', 'settings', 'settings.theme', 'settings.app_name', 'api'],
          ...['api.version', 'api.cors', 'api.cors.allowed_methods', 'api.cors.allowed_origins', 'x_extra'],
          ...['theme.x_font', 'version', 'api.x', 'features', 'settings.limits.max_tokens'],
        ),
        value: fc.oneof(
          fc.constantFrom(null, true, 'x', '#3366FF', '#33', 'GET', 'a b', '', 5, -5, 1.5, 1e300, {}, []),
          fc.constantFrom(2 ** 53 - 1, 2 ** 53, -(2 ** 53), { mode: 'x' }, { x: {} }, ['GET'], ['a b'], [1]),
          fc.constant(undefined),
        ),
      }),
      { maxLength: 2 },
    ),
  )
  .map(([file, changes]) => {
    const changed = structuredClone(file) as Json
    for (const { path, value } of changes) put(changed, path.split('.'), value)
    return changed
  })

/** @param value undefined removes the key */
function put(holder: Json, [step = '', ...rest]: string[], value: unknown): void {
  if (rest.length === 0) {
    if (value === undefined) delete holder[step]
    else holder[step] = structuredClone(value)
    return
  }
  const inner = holder[step]
  if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) holder[step] = {}
  put(holder[step] as Json, rest, value)
}

function typesOf(keys: readonly { path: string; type: string }[], prefix: string): Record<string, string> {
  return Object.fromEntries(keys.map(({ path, type }) => [prefix + path, type === 'list' ? 'array' : type]))
}

/** The type of each leaf by its path. Every other object must set additionalProperties to false. */
function pathsOf(schema: Schema | undefined, above = ''): Record<string, string> {
  if (!schema?.properties) return { [above.slice(0, -1)]: schema?.type ?? '' }
  expect(schema.additionalProperties, above).to.equal(false)
  const inner = Object.entries(schema.properties).map(([name, one]) => pathsOf(one, `${above}${name}.`))
  return Object.assign({}, ...inner)
}
