import { expect } from 'chai'
import fc from 'fast-check'
import type { Configuration } from '../../src/config/configuration-file.ts'
import { resolveUpstream } from '../../src/config/resolve-upstream.ts'

interface Given {
  flag?: { upstream?: string; keyFile?: string }
  env?: { upstream?: string; keyFile?: string }
  stored?: { upstream?: string; keyFile?: string }
}

function resolve({ flag = {}, env = {}, stored = {} }: Given) {
  const configuration: Configuration = {
    ...(stored.upstream && { upstream: stored.upstream }),
    ...(stored.keyFile && { upstream_key_file: stored.keyFile }),
  }
  const variables = { CHATCTL_UPSTREAM: env.upstream, CHATCTL_UPSTREAM_KEY_FILE: env.keyFile }
  return resolveUpstream({ ...flag, name: '--upstream' }, variables, configuration, (name) => name)
}

const a = 'https://a.example/v1'
const b = 'https://b.example/v1'

describe('the upstream', () => {
  it('comes from the flag, the environment, or the configuration, in this order', () => {
    const all = { flag: { upstream: a }, env: { upstream: b }, stored: { upstream: 'ollama' } }
    expect(resolve(all)).to.deep.include({ source: 'flag', from: '--upstream' })
    expect(resolve({ ...all, flag: {} }).server?.url).to.equal(b)
    expect(resolve({ stored: all.stored }).server?.url).to.equal('http://127.0.0.1:11434/v1')
    expect(resolve({})).to.deep.equal({ server: undefined, source: 'default', from: '' })
  })

  it('can be none at each level, which differs from never chosen', () => {
    expect(resolve({ flag: { upstream: 'none' }, stored: { upstream: a } })).to.deep.include({
      server: undefined,
      source: 'flag',
    })
    expect(resolve({ stored: { upstream: 'none' } }).source).to.equal('profile')
  })

  const keys: [title: string, given: Given, keyFile: string | undefined][] = [
    ['of the configuration with its upstream', { stored: { upstream: a, keyFile: '/k' } }, '/k'],
    [
      'of the configuration not with the upstream of a flag',
      { flag: { upstream: b }, stored: { upstream: a, keyFile: '/k' } },
      undefined,
    ],
    [
      'of the configuration not with the upstream of the environment',
      { env: { upstream: b }, stored: { upstream: a, keyFile: '/k' } },
      undefined,
    ],
    [
      'of the configuration with a flag for the same origin',
      { flag: { upstream: 'https://a.example/other' }, stored: { upstream: a, keyFile: '/k' } },
      '/k',
    ],
    [
      'of the environment with the upstream of the configuration',
      { env: { keyFile: 'k' }, stored: { upstream: a } },
      'k',
    ],
    [
      'of the environment not with the upstream of a flag, if the environment has another',
      { flag: { upstream: b }, env: { upstream: a, keyFile: 'k' } },
      undefined,
    ],
    [
      'of the environment with a flag, if it belongs to no other',
      { flag: { upstream: b }, env: { keyFile: 'k' } },
      'k',
    ],
    [
      'of the configuration if the key of the environment belongs to another',
      { flag: { upstream: b }, env: { upstream: a, keyFile: 'k' }, stored: { upstream: b, keyFile: '/k' } },
      '/k',
    ],
    [
      'of the configuration not without its upstream',
      { env: { upstream: b }, stored: { keyFile: '/k' } },
      undefined,
    ],
    ['of a flag always', { flag: { keyFile: 'k' }, stored: { upstream: a, keyFile: '/k' } }, 'k'],
  ]
  for (const [title, given, keyFile] of keys) {
    it(`takes the key ${title}`, () => expect(resolve(given).server?.keyFile).to.equal(keyFile))
  }

  it('never gets a stored key that was stored for another origin', () => {
    const upstream = fc.option(fc.constantFrom(a, b, 'none', 'ollama'), { nil: undefined })
    const level = fc.record({ upstream }) as fc.Arbitrary<{ upstream?: string }>
    const stored = fc.record({ upstream, keyFile: fc.constant('/k') }) as fc.Arbitrary<{ upstream?: string }>
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
