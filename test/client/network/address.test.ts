import { expect } from 'chai'
import { expandPath, resolvePath } from '../../../src/client/network/address.ts'
import { isLoopback, readBaseUrl } from '../../../src/contract/base-url.ts'
import { Failure } from '../../../src/contract/failure.ts'

function refusalOf(run: () => unknown): Failure {
  try {
    run()
  } catch (error) {
    if (error instanceof Failure && error.kind === 'refused') return error
    throw error
  }
  throw new Error('it was not refused')
}

describe('a base URL', () => {
  for (const text of [
    'https://api.example.com',
    'https://api.example.com/',
    'https://gw.example/chat-service/',
    'https://[2001:db8::1]:8443',
    'http://127.0.0.1:8080',
    'http://127.8.9.10',
    'http://[::1]:8080/x',
    'http://localhost:3000',
    'HTTPS://API.example.com',
  ])
    it(`can be ${text}`, () => expect(readBaseUrl(text).href).to.be.a('string'))

  const refused: [string, RegExp][] = [
    ['', /not a URL/],
    ['api.example.com', /not a URL/],
    ['https://', /not a URL/],
    ['ftp://api.example.com', /must begin with https/],
    ['localhost:3000', /not a URL|must begin with https/],
    ['file:///etc/passwd', /not a URL|must begin with https/],
    ['http://api.example.com', /would send the credential unencrypted/],
    ['http://127.0.0.1.example.com', /would send the credential unencrypted/],
    ['http://localhost.example.com', /would send the credential unencrypted/],
    ['http://0.0.0.0:80', /would send the credential unencrypted/],
    ['https://api.example.com?x=1', /a query/],
    ['https://api.example.com/#x', /a query or a fragment/],
    ['https://api.example.com/?', /a query/],
  ]
  for (const [text, message] of refused)
    it(`is refused if it is ${text || 'empty'}`, () =>
      expect(refusalOf(() => readBaseUrl(text)).message).to.match(message))

  it('with a user name or password is refused, and the error does not repeat them', () => {
    const failure = refusalOf(() => readBaseUrl('https://admin:canary-password@api.example.com'))
    expect(failure.message).to.match(/user name or password/)
    expect(failure.message + failure.hint).not.to.match(/canary|admin/)
  })

  it('may use plain HTTP only for a loopback address', () => {
    expect(['127.0.0.1', '[::1]', 'localhost'].every(isLoopback)).to.equal(true)
    expect(['128.0.0.1', '127.0.0.1.evil', 'notlocalhost', '[::2]'].some(isLoopback)).to.equal(false)
  })
})

describe('a request path', () => {
  const base = new URL('https://gw.example/chat-service/')

  it('is appended to the path of the base URL', () => {
    expect(resolvePath(base, '/v1/settings').href).to.equal('https://gw.example/chat-service/v1/settings')
    expect(resolvePath(new URL('https://gw.example'), '/v1/settings').href).to.equal(
      'https://gw.example/v1/settings',
    )
  })

  it('is extended by the query parameters, escaped', () => {
    expect(resolvePath(base, '/h', { before: 'a&b=c d' }).search).to.equal('?before=a%26b%3Dc+d')
    expect(resolvePath(base, '/h?x=1', { y: '2' }).search).to.equal('?x=1&y=2')
    expect(resolvePath(base, '/h?', { y: '2' }).search).to.equal('?y=2')
    expect(resolvePath(base, '/h?x=what?', { y: '2' }).search).to.equal('?x=what?&y=2')
  })

  for (const path of [
    ...[
      '',
      'v1/settings',
      '//evil.example/x',
      '/\\evil.example',
      '\\\\evil.example',
      'https://evil.example/x',
    ],
    ...[
      '/../other',
      '/v1/../../other',
      '/%2e%2e/other',
      '/.%2E/other',
      '/v1#x',
      '/v1\n/x',
      '/v1\t',
      '/\u0000',
      '/\ud800',
    ],
  ])
    it(`is refused if it is ${JSON.stringify(path)}`, () => refusalOf(() => resolvePath(base, path)))

  it('may contain .. as long as it stays below the base URL', () =>
    expect(resolvePath(base, '/v1/x/../settings').pathname).to.equal('/chat-service/v1/settings'))

  it('is refused if it only begins with the same characters as the base path', () =>
    refusalOf(() => resolvePath(base, '/../chat-service-evil/x')))

  const ids: [string, string][] = [
    ['usr_1', '/v1/users/usr_1'],
    ['a/b', '/v1/users/a%2Fb'],
    ['a?b#c', '/v1/users/a%3Fb%23c'],
    ['a%2Fb', '/v1/users/a%252Fb'],
    ['../settings', '/v1/users/..%2Fsettings'],
    ['ü b', '/v1/users/%C3%BC%20b'],
    ['...', '/v1/users/...'],
    ['$&', '/v1/users/%24%26'],
  ]
  for (const [id, path] of ids)
    it(`contains the ID ${id} escaped`, () => {
      expect(expandPath('/v1/users/{id}', { id })).to.equal(path)
      expect(resolvePath(base, path).pathname).to.equal(`/chat-service${path}`)
    })

  for (const id of ['', '.', '..', 'a\nb', '\u0085', '\u007f', '\udc00'])
    it(`is refused with the ID ${JSON.stringify(id)}`, () =>
      refusalOf(() => expandPath('/v1/users/{id}', { id })))

  it('is refused if the ID is missing', () => refusalOf(() => expandPath('/v1/users/{id}')))
})
