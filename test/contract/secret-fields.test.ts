import { expect } from 'chai'
import * as fc from 'fast-check'
import {
  hideSecretFields,
  hideSecretParameters,
  hideSecrets,
  isSecretName,
  isSecretParameter,
} from '../../src/contract/secret-fields.ts'
import { forAll } from '../support/for-all.ts'

const hide = (text: string) => hideSecretFields(text, () => '"[hidden]"')

const secretNames = [
  ...'password new_password passwd token access_token refreshToken id_token key api_key apiKey X-Api-Key'.split(
    ' ',
  ),
  ...'client_secret Authorization cookie client_assertion code_verifier device_code recovery_codes'.split(
    ' ',
  ),
  ...'credentials smtpApiKey pass password2 password_confirmation passphrase otp jwt apiKeys'.split(' '),
  'refresh_tokens',
]
const otherNames =
  'max_tokens total_tokens monkey code keys keyboard compass passed password_min_length token_type status'.split(
    ' ',
  )

describe('the fields that hold a secret', () => {
  it('are recognized by their names', () => {
    expect(secretNames.filter((name) => !isSecretName(name))).to.deep.equal([])
    expect(otherNames.filter((name) => isSecretName(name))).to.deep.equal([])
  })

  const secret = fc.nat().map((number) => `canary-${number}-"\\ü`)
  const harmless = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null))
  const { json } = fc.letrec<{ json: unknown; hidden: unknown }>((tie) => ({
    hidden: fc.oneof(
      { maxDepth: 3 },
      secret,
      fc.constantFrom(null, true),
      fc.array(tie('hidden'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...otherNames), tie('hidden'), { maxKeys: 3 }),
    ),
    json: fc.oneof(
      { maxDepth: 4 },
      harmless,
      fc.array(tie('json'), { maxLength: 4 }),
      fc
        .tuple(
          fc.dictionary(fc.constantFrom(...otherNames, 'a"b', 'c\\'), tie('json'), { maxKeys: 4 }),
          fc.dictionary(fc.constantFrom(...secretNames), tie('hidden'), { maxKeys: 2 }),
        )
        .map(([open, closed]) => ({ ...open, ...closed })),
    ),
  }))
  const indent = fc.constantFrom(0, 2)

  it('are hidden in any JSON, even if it is truncated', () =>
    forAll(json, indent, fc.double({ min: 0, max: 1, noNaN: true }), (value, spaces, part) => {
      const text = JSON.stringify(value, null, spaces)
      expect(hide(text.slice(0, Math.floor(text.length * part)))).not.to.contain('canary')
    }))

  it('are hidden in several JSON texts, with other text between', () =>
    forAll(fc.array(json, { maxLength: 3 }), (values) => {
      const text = values.map((value) => `event: a\ndata: ${JSON.stringify(value)}\n\n`).join('')
      expect(hide(text)).not.to.contain('canary')
    }))

  it('are the only ones that change', () => {
    const hidden = (value: unknown, isSecret: boolean): unknown => {
      if (Array.isArray(value)) return value.map((item) => hidden(item, isSecret))
      if (typeof value === 'object' && value !== null)
        return Object.fromEntries(
          Object.entries(value).map(([name, inner]) => [name, hidden(inner, isSecret || isSecretName(name))]),
        )
      return isSecret && value !== null && typeof value !== 'boolean' ? '[hidden]' : value
    }
    forAll(json, indent, (value, spaces) => {
      const text = JSON.stringify(value, null, spaces)
      expect(JSON.parse(hide(text))).to.deep.equal(hidden(JSON.parse(text), false))
    })
  })

  it('leave a text without them as it is', () => {
    forAll(fc.string({ unit: 'binary-ascii' }), (text) => {
      fc.pre(!/"/.test(text))
      expect(hide(text)).to.equal(text)
    })
    for (const text of ['"', '"\\', ']}', '{"a":1.0 , "max_tokens" : 5}', 'He said: "key" is a word'])
      expect(hide(text)).to.equal(text)
  })

  it('are hidden if they are numbers, or named with escapes', () =>
    expect(hide('{"pin": 1234, "pass\\u0077ord":"x", "key" : null}')).to.equal(
      '{"pin": "[hidden]", "pass\\u0077ord":"[hidden]", "key" : null}',
    ))

  it('are hidden in forms, queries, and URLs', () => {
    const shown = (text: string) => hideSecretParameters(text, () => '-')
    expect(shown('grant_type=x&code=a&code_verifier=b&refresh_token=c%20d')).to.equal(
      'grant_type=x&code=-&code_verifier=-&refresh_token=-',
    )
    expect(shown('https://a.example/cb?code=1&state=2#x')).to.equal('https://a.example/cb?code=-&state=2#x')
    expect(shown('see /x?limit=3&api_key=4 and more')).to.equal('see /x?limit=3&api_key=- and more')
  })

  it('are hidden in a value at every depth, in lists, and in URLs', () => {
    const value = {
      smtp: { apiKey: 'a', host: 'h', pin: 12, token: null, passwords: ['b'] },
      list: [{ otp: 'c' }, 'https://ada:d@a.example/?limit=1&access_token=e'],
      limits: { max_tokens: 5 },
      text: 'token=f is no secret',
      on: { password: true },
    }
    expect(hideSecrets(value)).to.deep.equal({
      smtp: { apiKey: '[redacted]', host: 'h', pin: '[redacted]', token: null, passwords: '[redacted]' },
      list: [{ otp: '[redacted]' }, 'https://ada:redacted@a.example/?limit=1&access_token=redacted'],
      limits: { max_tokens: 5 },
      text: 'token=f is no secret',
      on: { password: true },
    })
    expect(hideSecrets({ host: 'h' }, 'metadata.client_secret.value')).to.equal('[redacted]')
  })

  it('are hidden in URLs within JSON', () => {
    const text = (value: unknown) => hide(JSON.stringify(value))
    expect(text({ next: 'https://a.example/x?page=2&access_token=canary' })).to.equal(
      '{"next":"https://a.example/x?page=2&access_token=redacted"}',
    )
    // Some encoders escape an ampersand.
    expect(hide('{"next":"https://a.example/x?page=2\\u0026sig=canary","a":1}')).not.to.contain('canary')
    expect(hide('{"next":"https://ada:canary@a.example/"}')).not.to.contain('canary')
    expect(hide('{"next":"https://a.example/x?token=can')).not.to.contain('can')
  })

  it('have more names in queries and headers, also if they are encoded', () => {
    expect(
      ['sig', 'session_id', 'code', 'X-Auth', 'jwt', 'pass'].filter((name) => !isSecretParameter(name)),
    ).to.deep.equal([])
    expect(['page', 'limit', 'author', 'context_id'].filter(isSecretParameter)).to.deep.equal([])
    expect(hideSecretParameters('/x?%61pi_key=canary&jwt=canary', () => '-')).to.equal('/x?%61pi_key=-&jwt=-')
  })
})
