import { expect } from 'chai'
import { startBearerService, tokensSeen } from '../support/bearer-service.ts'
import { expireCredential } from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { type Behaviour, type FaultServer, failing, sse, startFaultServer } from '../support/fault-server.ts'
import { plantSignIn } from '../support/plant-sign-in.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { signIn } from '../support/sign-in.ts'
import { startTokenEndpoint, type TokenEndpoint } from '../support/token-endpoint.ts'

describe('a token that the service answers with 401', () => {
  let server: TokenEndpoint
  let service: FaultServer
  let sandbox: Sandbox
  beforeEach(async () => {
    sandbox = createSandbox()
    server = await startTokenEndpoint()
    service = await startBearerService((token) => server.live.has(token))
    plantSignIn(sandbox, { server, service })
  })
  afterEach(async () => {
    sandbox.remove()
    await server.close()
    await service.close()
  })

  const models = (): Promise<Run> => runChatctl(sandbox, ['chat', 'models'])
  const endTokens = () => server.live.clear()
  /** Hands out a token that has ended before it is used. */
  const stillborn: Behaviour = (request, response, incoming) => {
    const sent = server.tokens()(request, response, incoming)
    endTokens()
    return sent
  }

  it('is refreshed once, and the request succeeds', async () => {
    endTokens()
    expect(await models()).to.include({ exitCode: 0, stderr: '' })
    expect(tokensSeen(service)).to.deep.equal(['access-token-1', 'access-token-2'])
    expect(server.refreshes()).to.have.length(1)
  })

  it('is refreshed for a POST as well: nobody was let in, so nothing was done', async () => {
    endTokens()
    const { exitCode } = await runChatctl(sandbox, ['api', 'POST', '/v1/new', '--data', '{"a":1}'])
    expect(exitCode).to.equal(0)
    expect(service.requests.map(({ body }) => body)).to.deep.equal(['{"a":1}', '{"a":1}'])
  })

  it('is refreshed for a stream as well', async () => {
    const words = sse([{ choices: [{ delta: { content: 'Hello' }, index: 0 }] }])
    const talk = await startFaultServer({
      choose: ({ headers }) =>
        headers.authorization === 'Bearer access-token-3' ? words : failing(401, 'x', 'Not you'),
    })
    await signIn(sandbox, { server, service: talk }, ['--no-verify'], { profile: 'talk' })
    const { exitCode, stdout } = await runChatctl(sandbox, ['chat', 'send', 'Hi', '--stream', '-p', 'talk'])
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 0, stdout: 'Hello\n' })
    expect(tokensSeen(talk)).to.deep.equal(['access-token-2', 'access-token-3'])
    await talk.close()
  })

  it('a second time is given up: exit 4 after one refresh', async () => {
    endTokens()
    server.script.token = [stillborn]
    expectFailure(await models(), 4)
    expect(server.refreshes()).to.have.length(1)
    expect(service.requests).to.have.length(2)
  })

  it('though it was refreshed before use is given up without going round', async () => {
    expireCredential(sandbox)
    server.script.token = [stillborn]
    expectFailure(await models(), 4)
    expect(server.refreshes().length).to.be.at.most(2)
    expect(service.requests.length).to.be.at.most(2)
  })

  it('and a 403 are two things: no refresh helps there', async () => {
    const house = await startFaultServer(failing(403, 'x', 'Not this'))
    await signIn(sandbox, { server, service: house }, ['--no-verify'], { profile: 'house' })
    expectFailure(await runChatctl(sandbox, ['chat', 'models', '-p', 'house']), 5)
    expect(server.refreshes()).to.deep.equal([])
    await house.close()
  })
})
