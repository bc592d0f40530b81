// biome-ignore-all lint/suspicious/noTemplateCurlyInString: settings files have such references

import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { hintOf } from '../../src/cli/errors/hints.ts'
import { Failure } from '../../src/contract/failure.ts'
import {
  apiConfigurationKeys,
  settingsJsonSchema,
  settingsKeys,
} from '../../src/contract/resources/settings-file.ts'
import { type FileFault, readSettingsFiles } from '../../src/settings/file/read-settings-files.ts'
import { lay } from '../support/handlers/settings.ts'
import { thrownFailure } from '../support/thrown-failure.ts'
import { anyConfiguration, anyPatch, anySubset } from './any-settings.ts'

function read(text: string, env?: NodeJS.ProcessEnv, name = 'settings.yaml') {
  return readSettingsFiles([{ name, text }], { env })
}

/** The faults as line:column, path, and message. */
function faultsIn(text: string, env?: NodeJS.ProcessEnv, name?: string): string[] {
  const failure = thrownFailure(() => read(text, env, name))
  expect(failure.kind).to.equal('refused')
  const { faults } = failure.details as { faults: FileFault[] }
  const lines = faults.map(
    ({ line, column, path, message }) => `${line}:${column} ${path ? `${path} ` : ''}${message}`,
  )
  for (const { line, column } of faults) expect(failure.message).to.contain(`:${line}:${column}: `)
  return lines
}

const color = 'theme:\n  primary_color: #3366FF\n'
const list = 'api:\n  cors:\n    allowed_origins:\n      - #x\n      -\n'

describe('a settings file', () => {
  it('is read from any YAML or JSON that represents settings', () =>
    fc.assert(
      fc.property(anyPatch, (settings) => {
        const expected = { settings, api: {} }
        expect(read(stringify(settings)), 'YAML').to.deep.equal(expected)
        const shown = read(JSON.stringify(settings, null, '\t'), undefined, 'a.json')
        expect(shown, 'JSON').to.deep.equal(expected)
        expect(read(JSON.stringify(settings)), 'JSON as YAML').to.deep.equal(expected)
      }),
    ))

  it('can contain both settings and the API configuration, each below its name', () =>
    fc.assert(
      fc.property(anyPatch, anySubset(anyConfiguration), (settings, api) => {
        expect(read(stringify({ $schema: './x.json', api, settings }))).to.deep.equal({ settings, api })
        expect(read(stringify({ api }))).to.deep.equal({ settings: {}, api })
        expect(read(JSON.stringify({ settings }), undefined, 'a.JSON')).to.deep.equal({ settings, api: {} })
      }),
    ))

  it('overrides the files before it, key by key', () =>
    fc.assert(
      fc.property(fc.array(anyPatch, { minLength: 1, maxLength: 4 }), (layers) => {
        const sources = layers.map((layer, index) => ({
          name: index % 2 ? 'a.json' : 'a.yaml',
          text: JSON.stringify(index % 3 ? { settings: layer } : layer),
        }))
        const { settings } = readSettingsFiles(sources)
        expect(settings).to.deep.equal(layers.reduce((all, layer) => lay(all, layer)))
      }),
    ))

  it('replaces lists of the files before it as a whole', () => {
    const layer = (methods: string) => ({ name: 'x', text: `api: {cors: {allowed_methods: ${methods}}}` })
    const { api } = readSettingsFiles([layer('[GET, POST]'), layer('[PUT]'), { name: 'y', text: '' }])
    expect(api).to.deep.equal({ cors: { allowed_methods: ['PUT'] } })
    const none = readSettingsFiles([layer('[GET]'), layer('[]')])
    expect(none.api).to.deep.equal({ cors: { allowed_methods: [] } })
  })

  it('can be empty if another file names a key', () => {
    const other = { name: 'b', text: 'app_name: x' }
    for (const text of [
      '',
      '# nothing\n',
      '---\n',
      '{}',
      'theme: {}',
      '$schema: x',
      'settings: {}\napi: {}',
    ]) {
      expect(readSettingsFiles([{ name: 'a', text }, other]).settings).to.deep.equal({ app_name: 'x' })
      expect(thrownFailure(() => read(text)).message, text).to.equal('No settings in settings.yaml')
    }
    expect(thrownFailure(() => read('', undefined, 'a.json')).message).to.equal('No settings in a.json')
  })

  it('supports anchors and aliases, and prefers its keys to those of <<, and the first of several sources of <<', () => {
    const sources = '[{app_name: a, theme: {mode: x}}, {app_name: b, features: {chat: true}}]'
    const merged = { app_name: 'a', theme: { mode: 'x' }, features: { chat: true } }
    expect(read(`<<: ${sources}`).settings).to.deep.equal(merged)
    const own = { ...merged, app_name: 'c', theme: { mode: 'c' } }
    expect(read(`app_name: &a c\ntheme: {mode: *a}\n<<: ${sources}\n`).settings).to.deep.equal(own)
  })

  const rejected: Record<string, Record<string, string[]>> = {
    'with the location and the correction of every fault': {
      'theme:\n  mode: 5\n  moed: x\nfeatures:\n  chat: on\nthem: {}\n': [
        '2:9 theme.mode must be a string in quotes',
        '3:3 theme.moed is an unknown key; did you mean theme.mode?',
        '5:9 features.chat must be true or false',
        '6:1 them is an unknown key; did you mean theme?',
      ],
      'limits:\n  max_tokens: "12"\n  max_requests_per_min: 1.5\n': [
        '2:15 limits.max_tokens must be an integer without quotes',
        '3:25 limits.max_requests_per_min must be an integer without quotes',
      ],
    },
    'with its faults in the order of their locations': {
      'settings:\n  x: 1\napp_name: a\napi: {cors: {allowed_origins: [5, null]}}': [
        '2:3 x is an unknown key',
        '3:1 app_name must be below settings',
        '4:35 api.cors.allowed_origins.1 has no value',
      ],
    },
    'if a key or an item of a list has no value, or an invalid one': {
      'theme:\n  mode:\napp_name: ~\nlimits:\n': [
        '2:3 theme.mode has no value',
        '3:11 app_name has no value',
        '4:1 limits has no value',
      ],
      'api:\n  cors: {allowed_methods: [GET, null, "a b", 5]}': [
        '2:33 api.cors.allowed_methods.1 has no value',
      ],
      'api:\n  cors: {allowed_methods: [GET, "a b", 5]}': [
        '2:33 api.cors.allowed_methods.1 must be an HTTP method name',
        '2:40 api.cors.allowed_methods.2 must be a string in quotes',
      ],
      [color]: ['2:18 theme.primary_color has no value'],
      [list]: ['4:9 api.cors.allowed_origins.0 has no value', '5:8 api.cors.allowed_origins.1 has no value'],
    },
    'if it mixes its two layouts': {
      'settings: {app_name: x}\ntheme: {mode: dark}\napi: {}\nfoo: 1': [
        '2:1 theme must be below settings',
        '4:1 foo is an unknown key',
      ],
      'cors: {}\nversion: "1"': ['1:1 cors must be below api', '2:1 version must be below api'],
      'theme.mode: dark': ['1:1 theme.mode must be below theme'],
      '$schema: 5\napp_name: x': ['1:10 $schema must be a string'],
    },
    'if its YAML is ambiguous': {
      'app_name: a\ntheme: {mode: x, mode: y}\napp_name: b': [
        '2:18 duplicate key mode',
        '3:1 duplicate key app_name',
      ],
      'app_name: a\n---\napp_name: b': ['2:1 unexpected second document: the file must contain only one'],
      '%YAML 1.1\n---\nfeatures: {chat: yes}': ['1:1 the file is YAML 1.1; only YAML 1.2 is supported'],
      'app_name: !x a': ['1:11 Unresolved tag: !x'],
      'app_name: *a': ['1:11 unknown alias: no anchor &a before it'],
      '<<: 5': ['1:5 the value of << must be a map, an alias of a map, or a list of these'],
      'theme:\n\tmode: x': ['2:1 Tabs are not allowed as indentation'],
      '- a': ['1:1 the file must be an object of settings'],
      null: ['1:1 the file must be an object of settings'],
    },
  }
  for (const [when, texts] of Object.entries(rejected))
    it(`is rejected ${when}`, () => {
      for (const [text, faults] of Object.entries(texts)) expect(faultsIn(text), text).to.deep.equal(faults)
    })

  it('is rejected with a hint that # begins a comment, if that may be why a key has no value', () => {
    for (const text of [color, list])
      expect(hintOf(thrownFailure(() => read(text)))).to.contain('A # begins a comment')
    expect(hintOf(thrownFailure(() => read('theme:\n  primary_color:\n')))).to.equal(undefined)
  })

  it('is rejected with the file name of each fault', () => {
    const sources = ['theme: 5', 'app_name: true'].map((text, index) => ({ name: `${index}.yaml`, text }))
    expect(thrownFailure(() => readSettingsFiles(sources)).message).to.equal(
      '2 errors; nothing was sent:\n0.yaml:1:8: theme must be an object\n1.yaml:1:11: app_name must be a string in quotes',
    )
  })

  it('is rejected with the location if its name ends in .json and it is not JSON', () => {
    const faults: Record<string, string> = {
      '{"app_name": null}': '1:14 app_name has no value',
      '{"app_name": "a",\n"app_name": "b"}': '2:1 duplicate key app_name',
      '{"app_name": "a",}': '1:18 expected a key in double quotes',
      '{"app_name":\n tru}': '2:2 expected a JSON value',
      [`{"app_name": ${'1'.repeat(1_001)}}`]: '1:14 a number must not have more than 1,000 characters',
      '{"app_name" "a"}': '1:13 expected a colon',
      '{"app_name": "a\nb"}': '1:14 not a JSON string',
      '{"app_name": "a"': '1:17 expected a comma or }',
      '{"api": {"cors": {"allowed_methods": ["GET"}}}': '1:44 expected a comma',
      '{} {}': '1:4 unexpected text after the end of the JSON value',
      'app_name: a': '1:1 expected a JSON value',
    }
    for (const [text, fault] of Object.entries(faults))
      expect(faultsIn(text, undefined, 'a.json'), text).to.deep.equal([fault])
  })

  it('is rejected if it is nested too deep or has too many values', () => {
    const bomb = Array.from({ length: 9 }, (_, index) => {
      const below = `*a${index - 1}`
      return `a${index}: &a${index} [${Array(9).fill(index === 0 ? '1' : below)}]`
    }).join('\n')
    expect(faultsIn(bomb)).to.have.length(1)
    expect(faultsIn('theme: &x {<<: *x}')).to.deep.equal(['1:16 nested too deeply'])
    // While it is read: the rest of the text has another error.
    for (const [open, column] of [
      ['[', 53],
      ['{a: ', 209],
      ['- ', 105],
    ] as const)
      expect(faultsIn(`${open.repeat(100_000)}}`)).to.deep.equal([`1:${column} nested too deeply`])
    const lines = '80001:1 the file has more than 80000 values, marks, and lines'
    expect(faultsIn(`${'\n'.repeat(90_000)}}`)).to.deep.equal([lines])
    for (const name of ['a.json', 'a.yaml']) {
      expect(faultsIn('['.repeat(20_000), undefined, name)[0]).to.match(/nested too deeply$/)
      const wide = `{"app_name": [${Array(11_000).fill('1')}]}`
      expect(faultsIn(wide, undefined, name)[0]).to.match(/the file has more than 10000 values$/)
    }
  })

  it('is rejected with keys such as __proto__ and constructor', () => {
    const text = '{"__proto__": {"app_name": "x"}, "constructor": 1, "theme": {"__proto__": 5}}'
    for (const name of ['a.json', 'a.yaml'])
      expect(faultsIn(text, undefined, name)).to.deep.equal([
        '1:2 __proto__ is an unknown key',
        '1:34 constructor is an unknown key',
        '1:62 theme.__proto__ is an unknown key',
      ])
  })
})

describe('references to the environment in a settings file', () => {
  it('are plain text unless replacement is requested', () => {
    expect(read('app_name: ${A} $${B}').settings).to.deep.equal({ app_name: '${A} $${B}' })
    expect(faultsIn('limits: {max_tokens: "${N}"}')).to.deep.equal([
      '1:22 limits.max_tokens must be an integer without quotes; references are not expanded',
    ])
  })

  it('are replaced in texts, and converted to the type of the key', () => {
    const text = `app_name: \${A}-$\${A}
theme: {mode: "\${B}"}
features: {chat: "\${B}"}
limits: {max_tokens: "\${N}"}
`
    expect(read(text, { A: 'x: #y', B: 'on', N: '012' }).settings).to.deep.equal({
      app_name: 'x: #y-${A}',
      theme: { mode: 'on' },
      features: { chat: true },
      limits: { max_tokens: 12 },
    })
  })

  it('do not convert a text without a reference', () =>
    expect(faultsIn('limits: {max_tokens: "12"}\nfeatures: {chat: "on"}', {})).to.have.length(2))

  it('to variables that are not set are faults with their locations', () => {
    const text = 'app_name: |\n  a ${Q}\n  ${R}${Q}\ntheme:\n  mode: ${constructor}\n'
    expect(faultsIn(text, { A: '' })).to.deep.equal([
      '1:11 app_name needs Q, which is not set',
      '1:11 app_name needs R, which is not set',
      '1:11 app_name needs Q, which is not set',
      '5:9 theme.mode needs constructor, which is not set',
    ])
  })

  it('with invalid syntax are faults', () =>
    expect(faultsIn('app_name: "${A-b} ${"\ntheme: {mode: "${}"}', { A: 'x' })).to.deep.equal([
      '1:11 app_name contains ${A-b}, which is not a valid reference; write $${ for a literal ${',
      '1:11 app_name contains ${, which is not a valid reference; write $${ for a literal ${',
      '2:15 theme.mode contains ${}, which is not a valid reference; write $${ for a literal ${',
    ]))

  it('do not show the value of the variable in a fault', () => {
    const failure = thrownFailure(() => read('limits: {max_tokens: "${N}"}', { N: 'canary' }))
    expect(failure.message).to.contain('limits.max_tokens must be an integer')
    expect(JSON.stringify([failure.message, failure.details, hintOf(failure)])).not.to.contain('canary')
  })
})

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

    const examples: Record<string, unknown[]> = {
      accepts: [
        { app_name: 'x', theme: {} },
        { theme: { mode: 'dark' } },
        { settings: {}, api: { version: '2' } },
        { settings: { limits: { max_tokens: 5 } }, api: {} },
        { $schema: 'x', $unmanaged: { x: [null] }, app_name: '' },
      ],
      rejects: [
        ...[{}, { $schema: './settings.schema.json' }, { $unmanaged: { x: 1 } }, { theme: {} }, null, []],
        ...[{ settings: {} }, { api: {} }, { settings: { theme: {} }, api: { cors: {} } }],
        { $unmanaged: 1, app_name: '' },
      ],
    }
    for (const [verb, files] of Object.entries(examples))
      for (const file of files)
        it(`${verb} the same, for example ${JSON.stringify(file)}`, () =>
          expect(expectSame(file)).to.equal(verb === 'accepts'))

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
