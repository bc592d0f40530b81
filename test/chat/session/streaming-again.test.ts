import { expect } from 'chai'
import { continueExactly } from '../../../src/chat/conversation.ts'
import { perTest } from '../../support/lifetime.ts'
import { failing, sse } from '../../support/scripted-server.ts'
import { type SessionRun, SessionWorld } from './session-run.ts'

describe('a session that sends the whole conversation', () => {
  const world = perTest(() => SessionWorld.open())
  let run: SessionRun
  beforeEach(async () => {
    run = await world.run()
  })

  const converse = (words: string) =>
    run.say(words, new RegExp(`You said: ${words}[\\s\\S]*total[\\s\\S]*^>$`, 'm'))

  it('streams its replies if the service can, and keeps the part that arrived before Ctrl-C', async () => {
    world.server.streamsCompletions = true
    await run.say('/system be brief', /this\s+machine\s+stores\s+the\s+conversation[\s\S]*system: be brief/)
    const reply = world.server.answerNext({ text: ['As far as this ', 'and no further'], held: true })
    run.terminal.type('Hello\r')
    await reply.begun
    reply.release(1)
    await run.terminal.waitFor('As far as this')
    run.terminal.type('\u0003')
    await run.terminal.waitFor(/\[interrupted\][\s\S]*stored on this machine$/m)
    expect(world.transcript().turns.at(-1)).to.include({ reply: 'As far as this ', status: 'interrupted' })
    await run.say('/continue', /Continue exactly where[\s\S]*You said: Continue exactly[\s\S]*total/)
    expect(world.server.completions.at(-1)?.messages?.map(({ content }) => content)).to.deep.equal([
      ...['be brief', 'Hello', 'As far as this ', continueExactly],
    ])
    await run.say('/info', /conversation +stored on this machine$/m)
    expect(await run.leave()).not.to.match(/not\s+streamed|does\s+not\s+stream/)
  })

  it('says once that the service does not stream them, and then that Ctrl-C discards a reply', async () => {
    await run.say('/system be brief', 'system: be brief')
    await run.say('Hello', /You said: Hello[\s\S]*stored on this machine, not streamed/)
    const reply = world.server.answerNext({ text: 'Brief.', held: true })
    await run.say('Again', 'waiting for the full reply, not streamed (Ctrl-C discards it)')
    reply.release()
    await run.terminal.waitFor(/Brief\.[\s\S]*stored on this machine, not streamed/)
    await run.say('/info', 'stored on this machine, not streamed')
    expect((await run.leave()).match(/does\s+not\s+stream/g)).to.have.length(1)
  })

  it('returns to the service after /system off if nothing was sent in the meantime', async () => {
    await converse('one')
    await run.say('/system be brief', 'system: be brief')
    await run.say('/set temperature 1', 'temperature: 1')
    await run.say('/system off', 'system: none')
    await run.say('/set temperature off', 'temperature: default of the service')
    await run.terminal.waitFor('from now on, the service stores the conversation')
    await converse('two')
    expect(world.server.completions).to.deep.equal([])
    expect(world.server.sends.at(-1)).to.deep.equal({ message: 'two', context_id: 'ctx_1', stream: true })
  })

  it('stays on this machine if the service lacks messages, and says so', async () => {
    await converse('one')
    await run.say('/system be brief', 'system: be brief')
    await converse('two')
    await run.say('/system off', 'this machine still stores the conversation')
    await converse('three')
    expect(world.server.completions).to.have.length(2)
  })

  it('returns to the service after it is resumed if nothing was sent in the meantime', async () => {
    await converse('one')
    await run.say('/system be brief', 'system: be brief')
    await run.leave()
    run = await world.resume()
    await run.say('/system off', 'the service stores the conversation')
    await converse('two')
    expect(world.server.sends.at(-1)).to.include({ context_id: 'ctx_1' })
  })

  for (const command of ['/retry', '/edit']) {
    it(`streams the reply to the only message after ${command}, in a new conversation`, async () => {
      await converse('one')
      world.server.answerNext({ text: ['A better ', 'answer.'] })
      if (command === '/edit') {
        await run.say('/edit', 'to replace the last message')
        await run.say(' again', 'A better answer.')
      } else await run.say('/retry', 'A better answer.')
      await run.terminal.waitFor(
        /sent in a new conversation; conversation ctx_1 is unchanged[\s\S]*conversation ctx_2/,
      )
      await converse('two')
      expect(world.server.completions).to.deep.equal([])
      expect(world.server.sends.at(-1)).to.include({ message: 'two', context_id: 'ctx_2' })
      const { conversation, contextId } = world.transcript()
      expect(contextId).to.equal('ctx_2')
      expect(conversation.map(({ content }) => content).slice(1)).to.deep.equal([
        'A better answer.',
        'two',
        'You said: two',
      ])
    })
  }

  it('keeps its conversation if another reply to the only message fails', async () => {
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

  it('keeps its conversation for --continue if a new one fails', async () => {
    await converse('one')
    const error = { code: 'broken', message: 'Out of order' }
    world.server.failNext(sse([{ context_id: 'ctx_failed', delta: '' }, { error }], { done: false }))
    await run.say('/retry', /Out of order[\s\S]*^> one$/m)
    await run.leave()
    expect(world.transcript().contextId).to.equal('ctx_1')
  })

  it('stays on this machine after it is resumed if the service lacks messages', async () => {
    await converse('one')
    await run.say('/system be brief', 'system: be brief')
    await run.say('/retry', 'stored on this machine, not streamed')
    await run.say('/system off', 'this machine still stores the conversation')
    const error = { code: 'broken', message: 'Out of order' }
    world.server.failNext(sse([{ context_id: 'ctx_failed', delta: '' }, { error }], { done: false }))
    await run.say('/retry', /Out of order[\s\S]*^> one$/m)
    await run.leave()
    run = await world.resume()
    await run.say('/system be brief', 'system: be brief')
    await run.say('/system off', 'this machine still stores the conversation')
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
})
