import { expect } from 'chai'
import { Client } from '../../../src/client/client.ts'
import { perTest } from '../../support/lifetime.ts'
import { SessionWorld } from './session-run.ts'

describe('the model of a session', () => {
  const world = perTest(() => SessionWorld.open())
  const modelRequests = () => world.server.requests.filter(({ path }) => path === '/v1/chat/models').length

  it('is in the banner if it was chosen', async () => {
    const run = await world.run({ kind: 'new' }, { model: 'model-b' })
    expect(await run.terminal.text()).to.include('the test service · model-b · /help')
  })

  it('is named as soon as it is listed, if the first one replies', async () => {
    const run = await world.run({ kind: 'new' }, { firstModelReplies: true })
    await run.terminal.waitFor('Model: model-a')
    await run.say('/model', '* model-a  current')
  })

  it('is not asked for where that would cost quota', async () => {
    const run = await world.run()
    await run.say('hello', 'You said: hello')
    expect(modelRequests()).to.equal(0)
  })

  it('does not keep the session from starting if it cannot be listed', async () => {
    const client = new Client({ baseUrl: 'http://127.0.0.1:9', credential: 'k', retries: 0 })
    const run = await world.run({ kind: 'new' }, { firstModelReplies: true, connect: async () => client })
    await run.say('/info', 'the test service')
    expect(await run.terminal.text()).not.to.include('Model:')
    await client.close()
  })

  it('changes with /model', async () => {
    const run = await world.run()
    await run.say('/model model-b', 'Using model model-b from now on')
    await run.say('hello', 'You said: hello')
    expect(world.server.sends.at(-1)).to.include({ model: 'model-b' })
    await run.say('/model', '* model-b  current')
  })

  it('stays if the service does not list the new one, and near matches are named', async () => {
    const run = await world.run()
    await run.say('/model model-x', 'The service does not list the model "model-x"')
    await run.terminal.waitFor(/Did you mean model-[ab]\?/)
    await run.say('/model MODEL', 'Did you mean model-a?')
    await run.say('/model zzzzzzzz', 'List the models with /model')
    await run.say('hello', 'You said: hello')
    expect(world.server.sends.at(-1)).not.to.have.property('model')
  })

  it('stays for a part of an alias, and the alias is named', async () => {
    const run = await world.run({ kind: 'new' }, { aliases: { quick: 'model-b' } })
    await run.say('/model quic', 'Did you mean quick?')
    await run.say('/model quick', 'Using model model-b from now on')
  })

  it('can be one that the service does not list, with --force', async () => {
    const run = await world.run()
    await run.say('/model model-x --force', 'Using model model-x from now on')
    await run.say('hello', 'You said: hello')
    expect(world.server.sends.at(-1)).to.include({ model: 'model-x' })
    expect(modelRequests()).to.equal(0)
  })

  it('is accepted with a note if the models cannot be listed', async () => {
    const client = new Client({ baseUrl: 'http://127.0.0.1:9', credential: 'k', retries: 0 })
    const run = await world.run({ kind: 'new' }, { connect: async () => client })
    await run.say('/model model-x', 'so model-x was not checked')
    await run.terminal.waitFor('Using model model-x from now on')
    await client.close()
  })
})
