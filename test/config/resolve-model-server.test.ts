import { expect } from 'chai'
import fc from 'fast-check'
import type { Configuration } from '../../src/config/configuration-file.ts'
import { resolveModelServer } from '../../src/config/resolve-model-server.ts'

interface Given {
  flag?: { modelServer?: string; keyFile?: string }
  env?: { modelServer?: string; keyFile?: string }
  stored?: { modelServer?: string; keyFile?: string }
}

function resolve({ flag = {}, env = {}, stored = {} }: Given) {
  const configuration: Configuration = {
    ...(stored.modelServer && { model_server: stored.modelServer }),
    ...(stored.keyFile && { model_server_key_file: stored.keyFile }),
  }
  const variables = { CHATCTL_MODEL_SERVER: env.modelServer, CHATCTL_MODEL_SERVER_KEY_FILE: env.keyFile }
  return resolveModelServer({ ...flag, name: '--model-server' }, variables, configuration, (name) => name)
}

const a = 'https://a.example/v1'
const b = 'https://b.example/v1'

describe('the model server', () => {
  it('comes from the flag, the environment, or the configuration, in this order', () => {
    const all = { flag: { modelServer: a }, env: { modelServer: b }, stored: { modelServer: 'ollama' } }
    expect(resolve(all)).to.deep.include({ source: 'flag', from: '--model-server' })
    expect(resolve({ ...all, flag: {} }).server?.url).to.equal(b)
    expect(resolve({ stored: all.stored }).server?.url).to.equal('http://127.0.0.1:11434/v1')
    expect(resolve({})).to.deep.equal({ server: undefined, source: 'default', from: '' })
  })

  it('can be none at each level, which differs from never chosen', () => {
    expect(resolve({ flag: { modelServer: 'none' }, stored: { modelServer: a } })).to.deep.include({
      server: undefined,
      source: 'flag',
    })
    expect(resolve({ stored: { modelServer: 'none' } }).source).to.equal('profile')
  })

  const keys: [title: string, given: Given, keyFile: string | undefined][] = [
    ['of the configuration with its model server', { stored: { modelServer: a, keyFile: '/k' } }, '/k'],
    [
      'of the configuration not with the model server of a flag',
      { flag: { modelServer: b }, stored: { modelServer: a, keyFile: '/k' } },
      undefined,
    ],
    [
      'of the configuration not with the model server of the environment',
      { env: { modelServer: b }, stored: { modelServer: a, keyFile: '/k' } },
      undefined,
    ],
    [
      'of the configuration with a flag for the same origin',
      { flag: { modelServer: 'https://a.example/other' }, stored: { modelServer: a, keyFile: '/k' } },
      '/k',
    ],
    [
      'of the environment with the model server of the configuration',
      { env: { keyFile: 'k' }, stored: { modelServer: a } },
      'k',
    ],
    [
      'of the environment not with the model server of a flag, if the environment has another',
      { flag: { modelServer: b }, env: { modelServer: a, keyFile: 'k' } },
      undefined,
    ],
    [
      'of the environment with a flag, if it belongs to no other',
      { flag: { modelServer: b }, env: { keyFile: 'k' } },
      'k',
    ],
    [
      'of the configuration if the key of the environment belongs to another',
      {
        flag: { modelServer: b },
        env: { modelServer: a, keyFile: 'k' },
        stored: { modelServer: b, keyFile: '/k' },
      },
      '/k',
    ],
    [
      'of the configuration not without its model server',
      { env: { modelServer: b }, stored: { keyFile: '/k' } },
      undefined,
    ],
    ['of a flag always', { flag: { keyFile: 'k' }, stored: { modelServer: a, keyFile: '/k' } }, 'k'],
  ]
  for (const [title, given, keyFile] of keys)
    it(`takes the key ${title}`, () => expect(resolve(given).server?.keyFile).to.equal(keyFile))

  it('never gets a stored key that was stored for another origin', () => {
    const modelServer = fc.option(fc.constantFrom(a, b, 'none', 'ollama'), { nil: undefined })
    const level = fc.record({ modelServer }) as fc.Arbitrary<{ modelServer?: string }>
    const stored = fc.record({ modelServer, keyFile: fc.constant('/k') }) as fc.Arbitrary<{
      modelServer?: string
    }>
    fc.assert(
      fc.property(level, level, stored, (flag, env, kept) => {
        const { server } = resolve({ flag, env, stored: kept })
        if (server?.keyFile === undefined) return
        const owned = resolve({ stored: kept }).server?.url ?? 'none:'
        expect(new URL(server.url).origin).to.equal(new URL(owned).origin)
      }),
      { seed: 18 },
    )
  })
})
