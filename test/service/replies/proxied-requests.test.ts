import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect } from 'chai'
import { openIdMetadata } from '../../support/authorization-server.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { startModelServer } from '../../support/model-server.ts'
import {
  answer,
  json,
  type RecordedRequest,
  startScriptedServer,
  tunnelTo,
} from '../../support/scripted-server.ts'
import { withTrustedService } from '../oauth/trusted-service.ts'
import { withService } from '../temporary-service.ts'

/** A name that only the proxy can resolve. */
const host = 'models.test'
const ask = { messages: [{ role: 'user', content: 'hello' }] }
const list = { data: [{ id: 'm1', object: 'model', created: 7, owned_by: 'me' }] }
const completion = { choices: [{ message: { content: 'Hi' } }] }
const certificate = makeCertificate(host)
const authorities = getCACertificates()

/** A model server, and a proxy that passes on requests of plain HTTP itself. */
const respond = ({ path }: RecordedRequest) => json(200, path.endsWith('/models') ? list : completion)

describe('the service behind a proxy', () => {
  before(() => setDefaultCACertificates([...authorities, certificate.cert]))
  after(() => setDefaultCACertificates(authorities))
  const secured = perSuite(() => startScriptedServer({ choose: respond }, { certificate }))
  const proxy = perTest(() =>
    startScriptedServer({
      choose: (request) =>
        request.method === 'CONNECT' ? tunnelTo(() => new URL(secured.url).port) : respond(request),
    }),
  )
  const named = () => proxy.url.replace('//', '//user:p%40ss@')
  const credentials = `Basic ${btoa('user:p@ss')}`

  it('reaches its model server of plain HTTP through HTTP_PROXY', () =>
    withService(
      async ({ call }) => {
        const { body } = await call('POST', '/v1/chat/completions', ask)
        expect(body.choices[0].message.content).to.equal('Hi')
        expect(proxy.requests.map(({ method, path, headers }) => [method, path, headers.host])).to.deep.equal(
          [
            ['GET', `http://${host}:8000/v1/models`, `${host}:8000`],
            ['POST', `http://${host}:8000/v1/chat/completions`, `${host}:8000`],
          ],
        )
        for (const { headers } of proxy.requests) expect(headers['proxy-authorization']).to.equal(credentials)
        const either = 'The model server, or the proxy of HTTP_PROXY,'
        for (const [status, code, message] of [
          [403, 'error', `${either} rejects the credentials of this service (403)`],
          [
            407,
            'unreachable',
            'Cannot reach the model server: the proxy of HTTP_PROXY requires credentials (407)',
          ],
          [502, 'error', `${either} returned 502`],
          [503, 'overloaded', `${either} is overloaded; try again later`],
          [504, 'error', `${either} returned 504`],
        ] as const) {
          await proxy.serve(answer(status))
          const refused = await call('POST', '/v1/chat/completions', { ...ask, model: 'm1' })
          expect(refused.body.error).to.deep.equal({
            code: `model_server_${code}`,
            message,
            details: { model_server_status: status, model_server_proxy: 'HTTP_PROXY' },
          })
        }
        await proxy.serve(answer(401))
        const { error } = (await call('POST', '/v1/chat/completions', { ...ask, model: 'm1' })).body
        expect(error.details).to.deep.equal({ model_server_status: 401 })
      },
      { modelServer: { url: `http://${host}:8000/v1` }, env: { HTTP_PROXY: named() } },
    ))

  it('reaches its model server with TLS through a tunnel, which does not see its key', () =>
    withService(
      async ({ call }) => {
        const { body } = await call('POST', '/v1/chat/completions', { ...ask, model: 'm1' })
        expect(body.choices[0].message.content).to.equal('Hi')
        expect(
          proxy.requests.map(({ path, headers }) => [path, headers['proxy-authorization']]),
        ).to.deep.equal([[`${host}:443`, credentials]])
        expect(JSON.stringify(proxy.requests)).not.to.include('sk-1')
        expect(secured.requests.at(-1)?.headers.authorization).to.equal('Bearer sk-1')
      },
      { modelServer: { url: `https://${host}/v1`, key: 'sk-1' }, env: { https_proxy: named() } },
    ))

  it('reads the keys of an issuer through it', () =>
    withTrustedService(
      withService,
      async ({ issuer, trust, identity, exchange }) => {
        const origin = `https://${host}`
        secured.faults.set(openIdMetadata, json(200, { issuer: origin, jwks_uri: `${origin}/jwks` }))
        secured.faults.set('/jwks', async (_, response) =>
          response.end(await (await fetch(`${issuer.url}/jwks`)).text()),
        )
        await trust({ issuer: origin })
        expect(await exchange(await identity({ iss: origin }))).to.include({ status: 200 })
        expect(proxy.requests.map(({ method, path }) => [method, path])).to.deep.equal([
          ['CONNECT', `${host}:443`],
          ['CONNECT', `${host}:443`],
        ])
      },
      { env: { HTTPS_PROXY: named() } },
    ))

  it('names the variable, and not the address, if the proxy fails', async () => {
    await proxy.serve(answer(403))
    await withService(
      async ({ call }) => {
        const { body } = await call('POST', '/v1/chat/completions', { ...ask, model: 'm1' })
        expect(body.error).to.deep.equal({
          code: 'model_server_unreachable',
          message:
            'Cannot reach the model server: the proxy of HTTPS_PROXY refused the connection (status 403)',
          details: { model_server_cause: 'PROXY_REFUSED', model_server_proxy: 'HTTPS_PROXY' },
        })
      },
      { modelServer: { url: `https://${host}/v1` }, env: { HTTPS_PROXY: named() } },
    )
  })

  it('does not use it for loopback, or for the hosts of NO_PROXY', async () => {
    await using local = await startModelServer()
    const env = { HTTP_PROXY: named(), NO_PROXY: '*' }
    await withService(async ({ call }) => void (await call('GET', '/v1/chat/models')), {
      modelServer: { url: local.url },
      env: { HTTP_PROXY: named() },
    })
    expect(local.requests).to.have.length(1)
    await withService(
      async ({ call }) => {
        const { body } = await call('GET', '/v1/chat/models')
        expect(body.error.message).to.equal('Cannot reach the model server: host not found')
      },
      { modelServer: { url: `http://${host}/v1` }, env },
    )
    expect(proxy.requests).to.deep.equal([])
  })

  it('does not start with a proxy that is not valid', async () => {
    const options = { modelServer: { url: `http://${host}/v1` }, env: { ALL_PROXY: 'socks4://canary.test' } }
    const failure = await withService(() => expect.fail('it started'), options).catch((error) => error)
    expect(failure).to.include({ kind: 'config' })
    expect(failure.message).to.equal(
      'ALL_PROXY names a proxy that begins with socks4://, which is not supported',
    )
  })
})
