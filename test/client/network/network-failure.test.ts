import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingHttpHeaders,
} from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import tls from 'node:tls'
import { expect } from 'chai'
import { Client } from '../../../src/client/client.ts'
import { type Certificate, makeCertificate } from '../../support/certificate.ts'
import { failureOf, hurriedClock } from '../capture.ts'

const canary = 'sk-canary-2b77ac1e'
/** A name that only the proxy can resolve: a request that reaches it went through the proxy. */
const host = 'service.test'

describe('a connection with TLS or a proxy', () => {
  let certificate: Certificate
  let service: HttpsServer
  let proxy: HttpServer
  let tunnels: { target: string; headers: IncomingHttpHeaders }[]
  let seen: IncomingHttpHeaders[]
  let verdict: string

  before(async () => {
    certificate = makeCertificate(host)
    service = createHttpsServer(certificate, (incoming, response) => {
      seen.push(incoming.headers)
      response.setHeader('content-type', 'application/json').end('{"app_name":"behind"}')
    })
    proxy = createHttpServer().on('connect', (incoming, socket) => {
      tunnels.push({ target: incoming.url ?? '', headers: incoming.headers })
      socket.on('error', () => undefined)
      if (verdict !== '200 OK') {
        socket.end(`HTTP/1.1 ${verdict}\r\n\r\n`)
        return
      }
      const target = connect(portOf(service), '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
      target.on('error', () => socket.destroy())
      socket.pipe(target).pipe(socket)
    })
    for (const server of [service, proxy])
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })

  beforeEach(() => {
    tunnels = []
    seen = []
    verdict = '200 OK'
  })

  after(() => {
    service.closeAllConnections()
    service.close()
    proxy.closeAllConnections()
    proxy.close()
  })

  const trusted = tls.getCACertificates('default')

  /** One GET in an environment, with the certificate trusted, as by NODE_EXTRA_CA_CERTS. */
  async function get(
    baseUrl: string,
    env: Record<string, string>,
    given: NodeJS.ProcessEnv = process.env,
  ): Promise<Record<string, unknown>> {
    const before = { ...process.env }
    Object.assign(process.env, env)
    tls.setDefaultCACertificates([...trusted, certificate.cert])
    const client = new Client({ baseUrl, credential: canary, retries: 0, env: given })
    try {
      return await client.settings.get().then(
        ({ body }) => ({ body }),
        ({ kind, message, hint, advice }) => ({ kind, message, hint, advice }),
      )
    } finally {
      await client.close()
      tls.setDefaultCACertificates(trusted)
      for (const name of Object.keys(env)) delete process.env[name]
      Object.assign(process.env, before)
    }
  }

  it('to a service with an untrusted certificate is a TLS failure and is not retried', async () => {
    const clock = hurriedClock()
    const client = new Client({
      baseUrl: `https://127.0.0.1:${portOf(service)}`,
      credential: canary,
      internal: { clock },
    })
    const failure = await failureOf(client.settings.get())
    expect(failure.kind).to.equal('tls')
    expect(failure.hint).to.match(/NODE_EXTRA_CA_CERTS/)
    expect(clock.waits).to.deep.equal([])
    expect(seen).to.deep.equal([])
    await client.close()
  })

  it('with https:// to a server of plain HTTP is a TLS failure', async () => {
    const address = `127.0.0.1:${portOf(proxy)}`
    const client = new Client({ baseUrl: `https://${address}`, internal: { clock: hurriedClock() } })
    const failure = await failureOf(client.settings.get())
    expect(failure).to.include({
      kind: 'tls',
      message: `Cannot reach https://${address}: the server does not speak TLS`,
    })
    expect(failure.advice).to.deep.equal([{ code: 'other_scheme', url: `http://${address}` }])
    await client.close()
  })

  it('sends nothing with NODE_TLS_REJECT_UNAUTHORIZED=0, also through a proxy', async () => {
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' }
    const proxied = { ...env, HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}` }
    for (const outcome of [
      await get(`https://127.0.0.1:${portOf(service)}`, env),
      await get(`https://${host}`, proxied),
    ]) {
      expect(outcome['kind']).to.equal('refused')
      expect(outcome['message']).to.match(/^Nothing is sent to https:.*NODE_TLS_REJECT_UNAUTHORIZED=0/)
      expect(outcome['hint']).to.contain('NODE_EXTRA_CA_CERTS')
    }
    // A user of the library need not pass the environment.
    const unread = await get(`https://127.0.0.1:${portOf(service)}`, env, {})
    expect(unread).to.have.property('kind', 'tls')
    expect(seen).to.deep.equal([])
    expect(tunnels).to.deep.equal([])
  })

  for (const name of ['HTTPS_PROXY', 'https_proxy']) {
    it(`uses the proxy in ${name}, which sees no credential but its own`, async () => {
      const env = { [name]: `http://user:pass@127.0.0.1:${portOf(proxy)}` }
      expect(await get(`https://${host}`, env)).to.deep.equal({ body: { app_name: 'behind' } })
      expect(tunnels.map(({ target }) => target)).to.deep.equal([`${host}:443`])
      expect(tunnels[0]?.headers).not.to.have.property('authorization')
      expect(tunnels[0]?.headers['proxy-authorization']).to.equal(`Basic ${btoa('user:pass')}`)
      expect(seen[0]?.authorization).to.equal(`Bearer ${canary}`)
      expect(seen[0]).not.to.have.property('proxy-authorization')
    })
  }

  for (const name of ['NO_PROXY', 'no_proxy']) {
    it(`bypasses the proxy for a host in ${name}`, async () => {
      const env = { HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}`, [name]: `other.test,.${host}` }
      expect(await get(`https://${host}`, env)).to.have.property('kind', 'unreachable')
      expect(tunnels).to.deep.equal([])
    })
  }

  it('to a loopback address never uses a proxy', async () => {
    const env = {
      HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}`,
      HTTP_PROXY: `http://127.0.0.1:${portOf(proxy)}`,
    }
    // The certificate is for another name, so a TLS failure shows that the service itself responded.
    expect(await get(`https://127.0.0.1:${portOf(service)}`, env)).to.have.property('kind', 'tls')
    expect(tunnels).to.deep.equal([])
  })

  it('that the proxy refuses reports the refusal', async () => {
    verdict = '407 Proxy Authentication Required'
    const outcome = await get(`https://${host}`, { HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}` })
    expect(outcome['kind']).to.equal('unreachable')
    expect(outcome['message']).to.match(/the proxy refused.*407/)
  })

  for (const variable of ['HTTPS_PROXY', 'HTTP_PROXY']) {
    it(`with an unreachable proxy names the proxy and ${variable}, but not its password`, async () => {
      // Nothing listens on port 9, discard.
      const outcome = await get(`https://${host}`, { [variable]: 'http://user:canary@127.0.0.1:9' })
      expect(outcome['kind']).to.equal('unreachable')
      expect(outcome['message']).to.include(`the proxy http://127.0.0.1:9 (${variable}) for https://${host}`)
      expect(outcome['advice']).to.deep.equal([
        { code: 'bypass_proxy', variable, host: new URL(`https://${host}`).hostname },
      ])
      expect(JSON.stringify(outcome)).not.to.include('canary')
    })
  }

  it('with an invalid proxy URL is refused, and the error does not repeat it', async () => {
    const outcome = await get(`https://${host}`, { HTTPS_PROXY: 'user:canary@:x' })
    expect(outcome['kind']).to.equal('config')
    expect(JSON.stringify(outcome)).not.to.include('canary')
  })
})

function portOf(server: HttpServer | HttpsServer): number {
  return (server.address() as AddressInfo).port
}
