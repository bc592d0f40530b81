import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeCertificate } from '../../support/certificate.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { startModelServer } from '../../support/model-server.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { empty, failing, startScriptedServer } from '../../support/scripted-server.ts'
import { diagnose } from './checks.ts'

describe('doctor on the model server', () => {
  const sandbox = perTest(createSandbox)
  const use = (modelServer: string) => runChatctl(sandbox, ['config', 'set', 'model_server', modelServer])

  it('says that the test program replies, and how to change that', async () => {
    const { exitCode, found } = await diagnose(sandbox)
    expect(exitCode).to.equal(0)
    expect(found('model server')).to.deep.include({
      status: 'ok',
      message: 'none is set; the built-in test program replies',
      hint: 'Get replies from a model with: chatctl config set model_server=ollama',
    })
  })

  it('says where it comes from and how many models it has, before the service has data', async () => {
    await using server = await startModelServer()
    await use(server.url)
    const { exitCode, found } = await diagnose(sandbox)
    expect(exitCode).to.equal(0)
    expect(found('model server').message).to.equal(`${server.url}, from the configuration file, has 3 models`)
    expect(found('models').message).to.equal('no data yet')
  })

  it('warns about one without models', async () => {
    await using server = await startModelServer({ models: [] })
    await use(server.url)
    const { exitCode, found } = await diagnose(sandbox)
    expect(exitCode).to.equal(0)
    expect(found('model server')).to.include({ status: 'warning' })
    expect(found('model server').message).to.include('has no models')
  })

  it('exits 69 if it does not respond', async () => {
    const server = await startModelServer()
    await use(server.url)
    await server.close()
    const { exitCode, found } = await diagnose(sandbox)
    expect(exitCode).to.equal(69)
    expect(found('model server')).to.include({
      status: 'failed',
      hint: 'Start the model server, or stop using it with: chatctl config unset model_server',
    })
    expect(found('model server').message).to.include(`Cannot reach the model server ${server.url}`)
  })

  for (const [what, host, scheme, reason, hint] of [
    [
      'an untrusted certificate',
      '127.0.0.1',
      'https',
      'Cannot open a TLS connection to S, so nothing was sent: the certificate is self-signed',
      'NODE_USE_SYSTEM_CA=1',
    ],
    [
      'TLS at an address of plain HTTP',
      '127.0.0.1',
      'http',
      'Cannot reach S: the server speaks only TLS',
      'must begin with https://',
    ],
    [
      'plain HTTP at an address of TLS',
      undefined,
      'https',
      'Cannot open a TLS connection to S, so nothing was sent: the server does not speak TLS',
      'must begin with http://',
    ],
  ] as const)
    it(`says the same as a command about ${what}`, async () => {
      await using server = await startScriptedServer(empty, host && { certificate: makeCertificate(host) })
      const url = `${server.url.replace(/^https?/, scheme)}/v1`
      await use(url)
      const { exitCode, found } = await diagnose(sandbox)
      expect(exitCode).to.equal(69)
      const message = reason.replace(/\bS\b/, `the model server ${url}`)
      expect(found('model server')).to.include({
        status: 'failed',
        message: `${message}, from the configuration file`,
      })
      expect(found('model server').hint).to.include(hint)
      expectFailure(await runChatctl(sandbox, ['chat', 'send', 'hi']), 69, message, hint)
      expect(server.requests).to.deep.equal([])
    })

  it('names a proxy that does not work, and how to bypass it', async () => {
    const url = 'http://models.test:8000/v1'
    await use(url)
    const env = { HTTP_PROXY: 'user:canary@127.0.0.1:9' }
    const { found, all } = await diagnose(sandbox, [], { env })
    expect(found('model server').message).to.include(
      `Cannot reach the proxy of HTTP_PROXY for the model server ${url}: connection refused`,
    )
    const shown = found('model server').hint
    expect(shown).to.equal('Check HTTP_PROXY, or bypass the proxy with: export NO_PROXY=models.test')
    expect(JSON.stringify(all)).not.to.include('canary')
  })

  it('says what to do if it responds with an error', async () => {
    const server = await startScriptedServer(failing(401, 'invalid_api_key', 'No'))
    const key = join(sandbox.home, 'up.key')
    writeFileSync(key, 'sk-canary', { mode: 0o600 })
    const set = (file: string) => runChatctl(sandbox, ['config', 'set', 'model_server_key_file', file])
    const hint = async () => {
      const { exitCode, found } = await diagnose(sandbox)
      expect(exitCode).to.equal(69)
      expect(found('configuration').status).to.equal('ok')
      return found('model server').hint
    }
    await use(`${server.url}/v1`)
    expect(await hint()).to.include('run: chatctl config set model_server_key_file=FILE')
    await set(key)
    expect(await hint()).to.equal(`Check the key of the model server in ${key}`)
    const sent = await runChatctl(sandbox, ['chat', 'send', 'hi'])
    expectFailure(sent, 69, 'rejects the credentials', `Check the key of the model server in ${key}`)
    await server.close()
    await using other = await startScriptedServer(failing(404, 'not_found', 'No'))
    await use(other.url)
    expect(await hint()).to.equal('Most model servers need /v1 at the end of the address.')
  })

  it('is skipped for another service', async () => {
    const { found } = await diagnose(sandbox, ['--base-url', 'http://127.0.0.1:1', '--retries', '0'])
    expect(found('model server').status).to.equal('skipped')
  })
})
