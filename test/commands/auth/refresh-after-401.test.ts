import { expect } from 'chai'
import { expireCredential } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { tokensSeen } from '../../support/handlers/bearer.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { type Behavior, failing, sse, startScriptedServer } from '../../support/scripted-server.ts'
import { signIn } from '../../support/sign-in.ts'
import { makeSignInWorld } from '../../support/sign-in-world.ts'

describe('a request to which the service responds with 401', () => {
  const world = makeSignInWorld()
  beforeEach(() => plantSignIn(world.sandbox, world))

  const models = (): Promise<Run> => runChatctl(world.sandbox, ['chat', 'models'])
  const endTokens = () => world.server.live.clear()
  /** Issues a token that expires before it is used. */
  const stillborn: Behavior = (request, response, incoming) => {
    const sent = world.server.tokens()(request, response, incoming)
    endTokens()
    return sent
  }

  it('is repeated after one renewal of the token', async () => {
    endTokens()
    expect(await models()).to.include({ exitCode: 0, stderr: '' })
    expect(tokensSeen(world.service)).to.deep.equal(['access-token-1', 'access-token-2'])
    expect(world.server.refreshes()).to.have.length(1)
  })

  it('is repeated also if it is a POST, since the service refused it before any effect', async () => {
    endTokens()
    const { exitCode } = await runChatctl(world.sandbox, ['api', 'POST', '/v1/new', '--data', '{"a":1}'])
    expect(exitCode).to.equal(0)
    expect(world.service.requests.map(({ body }) => body)).to.deep.equal(['{"a":1}', '{"a":1}'])
  })

  it('is repeated also if it is a stream', async () => {
    const words = sse([{ choices: [{ delta: { content: 'Hello' }, index: 0 }] }])
    await using talk = await startScriptedServer({
      choose: ({ headers }) =>
        headers.authorization === 'Bearer access-token-3' ? words : failing(401, 'x', 'Not you'),
    })
    await signIn(world.sandbox, { server: world.server, service: talk }, ['--no-verify'], { profile: 'talk' })
    const { exitCode, stdout } = await runChatctl(world.sandbox, 'chat send Hi --stream -p talk'.split(' '))
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 0, stdout: 'Hello\n' })
    expect(tokensSeen(talk)).to.deep.equal(['access-token-2', 'access-token-3'])
  })

  it('fails after one renewal if the new token is refused too: exit 4', async () => {
    endTokens()
    world.server.script.token = [stillborn]
    expectFailure(await models(), 4)
    expect(world.server.refreshes()).to.have.length(1)
    expect(world.service.requests).to.have.length(2)
  })

  it('fails without a loop if the token was renewed before the request: exit 4', async () => {
    expireCredential(world.sandbox)
    world.server.script.token = [stillborn]
    expectFailure(await models(), 4)
    expect(world.server.refreshes().length).to.be.at.most(2)
    expect(world.service.requests.length).to.be.at.most(2)
  })

  it('is repeated after a 401 only: a 403 renews no token', async () => {
    await using house = await startScriptedServer(failing(403, 'x', 'Not this'))
    await signIn(world.sandbox, { server: world.server, service: house }, ['--no-verify'], {
      profile: 'house',
    })
    expectFailure(await runChatctl(world.sandbox, ['chat', 'models', '-p', 'house']), 5)
    expect(world.server.refreshes()).to.deep.equal([])
  })
})
