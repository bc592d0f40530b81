import tls from 'node:tls'
import { expect } from 'chai'
import { Client } from '../../../src/client/client.ts'
import { proxyFor } from '../../../src/system/network/proxy.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { closing, perTest } from '../../support/lifetime.ts'
import { answer, hangUp, json, startScriptedServer, tunnelTo } from '../../support/scripted-server.ts'
import { startSocksServer } from '../../support/socks-server.ts'
import { until } from '../../support/until.ts'
import { failureOf, hurriedClock } from '../capture.ts'

const canary = 'sk-canary-2b77ac1e'
/** A name that only the proxy can resolve: a request that reaches it went through the proxy. */
const host = 'service.test'
const origin = `https://${host}`
const certificate = makeCertificate(host)
const ofProxy = makeCertificate('127.0.0.1')
const trustedBefore = tls.getCACertificates('default')
const portOf = ({ url }: { url: string }) => new URL(url).port

describe('a connection with TLS or a proxy', () => {
  const service = perTest(() => startScriptedServer(json(200, { app_name: 'behind' }), { certificate }))
  const proxy = perTest(() => startScriptedServer(tunnelTo(() => portOf(service))))
  const securedProxy = perTest(() =>
    startScriptedServer(
      tunnelTo(() => portOf(service)),
      { certificate: ofProxy },
    ),
  )
  const socks = perTest(() => startSocksServer(() => portOf(service)))
  const warnings: unknown[] = []
  const onWarning = (warning: Error) => warning.name === 'ExperimentalWarning' && warnings.push(warning)
  before(() => process.on('warning', onWarning))
  after(() => {
    process.off('warning', onWarning)
    tls.setDefaultCACertificates(trustedBefore)
  })

  /** One GET in an environment, with the certificate trusted, as by NODE_EXTRA_CA_CERTS. */
  async function get(baseUrl: string, env: Record<string, string>, certificates = [certificate.cert]) {
    tls.setDefaultCACertificates(certificates)
    await using client = closing(new Client({ baseUrl, credential: canary, retries: 0, env }))
    return await client.settings.get().then(
      ({ body }) => ({ body }),
      ({ kind, message, hint, advice }) => ({ kind, message, hint, advice }),
    )
  }
  const arrived = { body: { app_name: 'behind' } }

  const otherHost = /^the certificate is for another host \(IP: 127\.0\.0\.1 is not in the cert's list: /
  const trustIt = /NODE_EXTRA_CA_CERTS.*NODE_USE_SYSTEM_CA=1/
  for (const [what, name, reason, hint] of [
    ['for another host', host, otherHost, undefined],
    ['that is self-signed', '127.0.0.1', /^the certificate is self-signed$/, trustIt],
  ] as const)
    it(`to a service with a certificate ${what} sends nothing, and is not retried`, async () => {
      const own = makeCertificate(name)
      await using other = await startScriptedServer(json(200, {}), { certificate: own })
      tls.setDefaultCACertificates(hint ? [] : [own.cert])
      const clock = hurriedClock()
      const client = new Client({ baseUrl: other.url, credential: canary, internal: { clock } })
      const failure = await failureOf(client.request({ method: 'PATCH', path: '/v1/settings', body: '{}' }))
      await client.close()
      expect(failure).to.include({ kind: 'tls', isOutcomeUnknown: false })
      const begin = `Cannot open a TLS connection to ${other.url}, so nothing was sent: `
      expect(failure.message.startsWith(begin), failure.message).to.equal(true)
      expect(failure.message.slice(begin.length)).to.match(reason)
      if (hint) expect(failure.hint).to.match(hint)
      else expect(failure.hint).to.equal(undefined)
      expect(clock.waits).to.deep.equal([])
      expect(other.requests).to.deep.equal([])
    })

  it('with the other scheme than that of the server is a TLS failure with its address', async () => {
    const clock = hurriedClock()
    for (const [server, [wrong, right], message] of [
      [
        proxy,
        ['https', 'http'],
        'Cannot open a TLS connection to URL, so nothing was sent: the server does not speak TLS',
      ],
      [service, ['http', 'https'], 'Cannot reach URL: the server speaks only TLS'],
    ] as const) {
      const address = new URL(server.url).host
      const baseUrl = `${wrong}://${address}`
      await using client = closing(new Client({ baseUrl, internal: { clock } }))
      const failure = await failureOf(client.request({ method: 'PATCH', path: '/v1/settings', body: '{}' }))
      const outcome = { kind: 'tls', isOutcomeUnknown: false }
      expect(failure).to.include({ ...outcome, message: message.replace('URL', baseUrl) })
      expect(failure.advice).to.deep.equal([{ code: 'other_scheme', url: `${right}://${address}` }])
    }
    expect(clock.waits).to.deep.equal([])
  })

  it('sends nothing with NODE_TLS_REJECT_UNAUTHORIZED=0, also through a proxy', async () => {
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' }
    for (const outcome of [
      await get(service.url, env),
      await get(origin, { ...env, HTTPS_PROXY: proxy.url }),
    ]) {
      expect(outcome).to.have.property('kind', 'refused')
      expect(outcome)
        .to.have.property('message')
        .that.match(/^Nothing is sent to https:.*NODE_TLS_REJECT_UNAUTHORIZED=0/)
      expect(outcome).to.have.property('hint').that.contains('NODE_EXTRA_CA_CERTS')
    }
    // A user of the library need not pass the environment.
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      for (const unread of [await get(service.url, {}), await get(origin, { HTTPS_PROXY: proxy.url }, [])])
        expect(unread).to.have.property('kind', 'tls')
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    }
    expect(service.requests).to.deep.equal([])
  })

  for (const [what, env] of Object.entries<(proxyHost: string) => Record<string, string>>({
    'in HTTPS_PROXY': (at) => ({ HTTPS_PROXY: `http://user:p%40ss@${at}` }),
    'in https_proxy, before HTTPS_PROXY': (at) => ({
      https_proxy: `http://user:p%40ss@${at}`,
      HTTPS_PROXY: 'http://127.0.0.1:9',
    }),
    'without a scheme, as curl takes it': (at) => ({ HTTPS_PROXY: `user:p%40ss@${at}` }),
    'in ALL_PROXY, if the variable of the scheme is empty': (at) => ({
      HTTPS_PROXY: '',
      ALL_PROXY: `http://user:p%40ss@${at}`,
    }),
    'of HTTP, for lack of another': (at) => ({ HTTP_PROXY: `HTTP://user:p%40ss@${at}` }),
  }))
    it(`uses the proxy ${what}, which sees no credential but its own`, async () => {
      expect(await get(origin, env(new URL(proxy.url).host))).to.deep.equal(arrived)
      const [tunnel] = proxy.requests
      expect(tunnel?.path).to.equal(`${host}:443`)
      expect(tunnel?.headers).not.to.have.property('authorization')
      expect(tunnel?.headers['proxy-authorization']).to.equal(`Basic ${btoa('user:p@ss')}`)
      const [request] = service.requests
      expect(request?.headers.authorization).to.equal(`Bearer ${canary}`)
      expect(request?.headers).not.to.have.property('proxy-authorization')
    })

  it('through a proxy to an IPv6 address verifies the certificate of the address', async () => {
    const own = makeCertificate('2001:db8::1')
    await using other = await startScriptedServer(json(200, { app_name: 'behind' }), { certificate: own })
    await proxy.serve(tunnelTo(() => portOf(other)))
    expect(await get('https://[2001:db8::1]', { HTTPS_PROXY: proxy.url }, [own.cert])).to.deep.equal(arrived)
    expect(proxy.requests[0]?.path).to.equal('[2001:db8::1]:443')
  })

  it('is closed with the client, also before a silent proxy responds', async () => {
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    await proxy.serve((_, __, { socket }) => void socket.once('end', resolve).resume())
    const client = new Client({ baseUrl: origin, env: { HTTPS_PROXY: proxy.url } })
    const failure = failureOf(client.settings.get())
    await until(() => proxy.requests.length > 0)
    await client.close()
    expect((await failure).kind).to.equal('unreachable')
    await ended
  })

  it('uses a proxy with TLS only if its certificate is trusted', async () => {
    const env = { HTTPS_PROXY: securedProxy.url }
    expect(await get(origin, env)).to.deep.include({
      kind: 'tls',
      message: `Cannot open a TLS connection to the proxy ${securedProxy.url} (HTTPS_PROXY) for ${origin}, so nothing was sent: the certificate is self-signed`,
    })
    expect(securedProxy.requests).to.deep.equal([])
    expect(await get(origin, env, [certificate.cert, ofProxy.cert])).to.deep.equal(arrived)
  })

  for (const scheme of ['socks5', 'socks5h'])
    it(`uses a proxy of ${scheme}, which resolves the host, without a warning of Node.js`, async () => {
      const env = { ALL_PROXY: `${scheme}://user:pass@${socks.host}` }
      expect(await get(origin, env)).to.deep.equal(arrived)
      expect(await get(origin, { ALL_PROXY: `${scheme}://${socks.host}` })).to.deep.equal(arrived)
      const target = `${host}:443`
      expect(socks.requests).to.deep.equal([
        { user: 'user:pass', target },
        { user: undefined, target },
      ])
      socks.reply = 5
      expect(await get(origin, env)).to.deep.include({
        kind: 'unreachable',
        message: `Cannot reach ${origin}: the proxy ${scheme}://${socks.host} (ALL_PROXY) refused the connection (SOCKS5 connection failed: Connection refused)`,
      })
      expect(warnings).to.deep.equal([])
    })

  it('bypasses the proxy for the addresses of a network in NO_PROXY', () => {
    const uses = (at: string, excepted: string) =>
      proxyFor(new URL(`https://${at}`), { HTTPS_PROXY: 'proxy.test', NO_PROXY: excepted }) !== undefined
    for (const [at, excepted] of [
      ['10.1.2.3', '10.0.0.0/8'],
      ['[2001:db8::1]', 'x,2001:db8::/32'],
    ] as const) {
      expect(uses(at, excepted), at).to.equal(false)
      for (const other of ['11.1.2.3', '[2001:db9::1]', host])
        expect(uses(other, excepted), other).to.equal(true)
    }
    for (const invalid of ['10.0.0.0/', '10.0.0.0/x', '10.0.0.0/33', 'x/8'])
      expect(uses('10.1.2.3', invalid), invalid).to.equal(true)
  })

  for (const [value, bypasses] of [
    [`other.test,.${host}`, true],
    [host.toUpperCase(), true],
    [`${host}:443`, true],
    [`${host}:8443`, false],
    ['test', true],
    [`*.${host}`, false],
    [' * ', true],
  ] as const)
    it(`${bypasses ? 'bypasses' : 'uses'} the proxy with NO_PROXY=${value}`, async () => {
      // Not even the URL of the proxy is read.
      const named = bypasses ? 'socks9://x' : proxy.url
      const outcome = await get(origin, { HTTPS_PROXY: named, NO_PROXY: value })
      if (bypasses)
        expect(outcome).to.include({ kind: 'unreachable', message: `Cannot reach ${origin}: host not found` })
      else expect(outcome).to.deep.equal(arrived)
      expect(proxy.requests).to.have.length(bypasses ? 0 : 1)
    })

  it('to a loopback address never uses a proxy', async () => {
    // The certificate is for another name, so a TLS failure shows that the service itself responded.
    const outcome = await get(service.url, {
      HTTPS_PROXY: proxy.url,
      HTTP_PROXY: proxy.url,
      ALL_PROXY: proxy.url,
    })
    expect(outcome).to.have.property('kind', 'tls')
    expect(proxy.requests).to.deep.equal([])
  })

  for (const [what, make, words] of [
    ['that refuses', answer(407), 'Cannot reach O: the proxy P refused the connection (status 407)'],
    ['that hangs up', hangUp, 'Cannot reach the proxy P for O: connection reset'],
  ] as const)
    it(`with a proxy ${what} names the proxy and its variable, but not its password`, async () => {
      await proxy.serve(make)
      const outcome = await get(origin, { HTTPS_PROXY: `http://user:canary@${new URL(proxy.url).host}` })
      expect(outcome).to.deep.include({
        kind: 'unreachable',
        message: words.replace(/\b[PO]\b/g, (name) => (name === 'O' ? origin : `${proxy.url} (HTTPS_PROXY)`)),
        advice: [{ code: 'bypass_proxy', variable: 'HTTPS_PROXY', host }],
      })
      expect(JSON.stringify(outcome)).not.to.include('canary')
    })

  it('with an unreachable proxy is retried', async () => {
    const clock = hurriedClock()
    // Nothing listens on port 9, discard.
    const env = { HTTP_PROXY: 'http://user:canary@127.0.0.1:9' }
    const client = new Client({ baseUrl: origin, env, internal: { clock } })
    const failure = await failureOf(client.settings.get())
    await client.close()
    const words = `Cannot reach the proxy http://127.0.0.1:9 (HTTP_PROXY) for ${origin}: connection refused`
    expect(failure).to.include({ kind: 'unreachable', message: words })
    expect(clock.waits).to.have.length(2)
  })

  const invalid = 'is not a valid proxy URL'
  for (const [variable, value, message, hint] of [
    ['HTTPS_PROXY', 'user:canary@:x', invalid, /^Write it as http:\/\/HOST:PORT/],
    // The password is canary/1, 1/canary, 1#canary, or 1?canary.
    ['HTTPS_PROXY', 'u:canary/1@p.test', invalid, /%2F for \//],
    ['HTTPS_PROXY', 'u:1/canary@p.test', invalid, /%2F for \//],
    ['HTTPS_PROXY', 'u:1#canary@p.test', invalid, /%23 for #/],
    ['HTTPS_PROXY', 'socks5://u:1?canary@p.test', invalid, /USER/],
    ['ALL_PROXY', 'socks5h://canary@p.test', invalid, /USER:PASSWORD/],
    ['https_proxy', 'http://u:canary%@p.test:1', invalid, /%40 for @/],
    [
      'ALL_PROXY',
      'socks4://canary.test:1',
      'names a proxy that begins with socks4://, which is not supported',
      /socks5h:/,
    ],
  ] as const)
    it(`with ${variable}=${value} is refused, and the error does not repeat the value`, async () => {
      const outcome = await get(origin, { [variable]: value })
      expect(outcome).to.include({ kind: 'config', message: `${variable} ${message}` })
      expect(outcome).to.have.property('hint').that.match(hint)
      expect(JSON.stringify(outcome)).not.to.include('canary')
    })
})
