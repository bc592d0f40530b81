import { expect } from 'chai'
import { settingsJsonSchema } from '../../src/contract/settings-file.ts'
import { apiConfigurationKeys, settingsKeys } from '../../src/contract/settings-keys.ts'

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

  it('says what it is', () => {
    expect(top['$schema']).to.equal('https://json-schema.org/draft/2020-12/schema')
    expect(top['title']).to.be.a('string')
    expect(top.description).to.be.a('string')
  })

  it('has both forms, with every key and nothing else', () => {
    const { $schema, ...settings } = pathsOf(bare)
    expect($schema).to.equal('string')
    expect(settings).to.deep.equal(typesOf(settingsKeys, ''))
    expect(pathsOf(named)).to.deep.equal({
      $schema: 'string',
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
})

function typesOf(keys: readonly { path: string; type: string }[], prefix: string): Record<string, string> {
  return Object.fromEntries(keys.map(({ path, type }) => [prefix + path, type === 'list' ? 'array' : type]))
}

/** The type of each leaf by its path; every object that is no leaf must be closed. */
function pathsOf(schema: Schema | undefined, above = ''): Record<string, string> {
  if (!schema?.properties) return { [above.slice(0, -1)]: schema?.type ?? '' }
  expect(schema.additionalProperties, above).to.equal(false)
  const inner = Object.entries(schema.properties).map(([name, one]) => pathsOf(one, `${above}${name}.`))
  return Object.assign({}, ...inner)
}
