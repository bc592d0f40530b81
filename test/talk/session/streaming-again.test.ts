import { expect } from 'chai'
import { failing, silent, sse } from '../../support/fault-server.ts'
import { perTest } from '../../support/lifetime.ts'
import { type SessionRun, SessionWorld } from './session-run.ts'

describe('a session whose replies are not streamed', () => {
  const world = perTest(() => SessionWorld.open())
  let run: SessionRun
  beforeEach(async () => {
    run = await world.run()
  })

  const converse = (words: string) =>
    run.say(words, new RegExp(`You said: ${words}[\\s\\S]*total[\\s\\S]*^>$`, 'm'))

  it('says so when it begins, while it waits, and below each reply', async () => {
    await run.say('/system be brief', /replies\s+are not streamed/)
    const reply = world.server.answerNext({ text: 'Brief.', held: true })
    await run.say('Hello', 'waiting for the full reply, not streamed (Ctrl-C discards it)')
    reply.release()
    await run.terminal.waitFor('stored on this machine, not streamed')
    await run.say('/info', 'stored on this machine, not streamed')
  })

  it('streams again after /system off if nothing was sent in the meantime', async () => {
    await converse('one')
    await run.say('/system be brief', 'not streamed')
    await run.say('/set temperature 1', 'temperature: 1')
    await run.say('/system off', 'system: none')
    await run.say('/set temperature off', 'temperature: default of the service')
    await run.terminal.waitFor('the service stores the conversation, and replies are streamed')
    await converse('two')
    expect(world.server.completions).to.deep.equal([])
    expect(world.server.sends.at(-1)).to.deep.equal({ message: 'two', context_id: 'ctx_1', stream: true })
  })

  it('continues without streaming if the service lacks messages, and says so', async () => {
    await converse('one')
    await run.say('/system be brief', 'not streamed')
    await converse('two')
    await run.say('/system off', 'replies are still not streamed')
    await converse('three')
    expect(world.server.completions).to.have.length(2)
  })

  it('streams again after it is resumed if nothing was sent in the meantime', async () => {
    await converse('one')
    await run.say('/system be brief', 'not streamed')
    await run.leave()
    run = await world.resume()
    await run.say('/system off', 'stores the conversation,')
    await converse('two')
    expect(world.server.sends.at(-1)).to.include({ context_id: 'ctx_1' })
  })

  for (const command of ['/retry', '/edit']) {
    it(`streams the reply to the only message after ${command}, in a new context`, async () => {
      await converse('one')
      world.server.answerNext({ text: ['A better ', 'answer.'] })
      if (command === '/edit') {
        await run.say('/edit', 'to replace the last message')
        await run.say(' again', 'A better answer.')
      } else await run.say('/retry', 'A better answer.')
      await run.terminal.waitFor(/sent in a new conversation; context ctx_1 is unchanged[\s\S]*context ctx_2/)
      await converse('two')
      expect(world.server.completions).to.deep.equal([])
      expect(world.server.sends.at(-1)).to.include({ message: 'two', context_id: 'ctx_2' })
      expect(world.remembered.at(-1)).to.equal('ctx_2')
      const { conversation, contextId } = world.transcript()
      expect(contextId).to.equal('ctx_2')
      expect(conversation.map(({ content }) => content).slice(1)).to.deep.equal([
        'A better answer.',
        'two',
        'You said: two',
      ])
    })
  }

  it('keeps its context if another reply to the only message fails', async () => {
    await converse('one')
    world.server.failNext(failing(500, 'broken', 'Out of order'))
    await run.say('/retry', /Out of order[\s\S]*^> one$/m)
    run.terminal.type('\u0003')
    await run.terminal.waitFor(/^>$/m)
    await converse('two')
    expect(world.server.sends.at(-1)).to.include({ message: 'two', context_id: 'ctx_1' })
    expect(world.transcript().conversation.map(({ content }) => content)).to.deep.equal([
      'one',
      'You said: one',
      'two',
      'You said: two',
    ])
  })

  it('keeps its context for --continue if a new context fails', async () => {
    await converse('one')
    const error = { code: 'broken', message: 'Out of order' }
    world.server.failNext(sse([{ context_id: 'ctx_failed', delta: '' }, { error }], { done: false }))
    await run.say('/retry', /Out of order[\s\S]*^> one$/m)
    await run.leave()
    expect(world.remembered.at(-1)).to.equal('ctx_1')
  })

  it('continues without streaming after it is resumed if the service lacks messages', async () => {
    await converse('one')
    await run.say('/system be brief', 'not streamed')
    await run.say('/retry', 'stored on this machine, not streamed')
    await run.say('/system off', 'replies are still not streamed')
    const error = { code: 'broken', message: 'Out of order' }
    world.server.failNext(sse([{ context_id: 'ctx_failed', delta: '' }, { error }], { done: false }))
    await run.say('/retry', /Out of order[\s\S]*^> one$/m)
    await run.leave()
    run = await world.resume()
    await run.say('/system be brief', 'system: be brief')
    await run.say('/system off', 'replies are still not streamed')
  })

  it('keeps the partial reply if Ctrl-C stops a streamed retry', async () => {
    await converse('one')
    const reply = world.server.answerNext({ text: ['As far as this ', 'and no further'], held: true })
    await run.say('/retry', 'sent in a new conversation')
    await reply.begun
    reply.release(1)
    await run.terminal.waitFor('As far as this')
    run.terminal.type('\u0003')
    await run.terminal.waitFor('[interrupted]')
    expect(world.transcript().turns.at(-1)).to.include({ reply: 'As far as this ', status: 'interrupted' })
  })

  it('stops with Ctrl-C while it shows a reply that arrived in one piece', async () => {
    const text = 'word '.repeat(200_000)
    world.server.answerNext({ text: [text] })
    await run.say('Hello', 'word')
    run.terminal.type('\u0003')
    await run.terminal.waitFor('[interrupted]')
    expect(world.transcript().turns.at(-1)?.reply.length).to.be.within(1, text.length - 1)
  })

  it('says that Ctrl-C discards an unfinished completion', async () => {
    await run.say('/system be brief', 'not streamed')
    world.server.failNext(silent)
    await run.say('Hello', 'Ctrl-C discards it')
    run.terminal.type('\u0003')
    await run.terminal.waitFor(/\[stopped before a reply arrived\][\s\S]*^> Hello$/m)
  })
})
