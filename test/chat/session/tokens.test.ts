import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { SessionWorld } from './session-run.ts'

const at = '2026-01-02T03:04:05.000Z'

describe('the tokens of a session', () => {
  const world = perTest(() => SessionWorld.open())
  const footer = / reply .*tokens[\s\S]*ctx_1/

  it('are below each reply and in /info as the service counts them', async () => {
    const run = await world.run()
    world.server.answerNext({ text: 'One.', usage: { prompt_tokens: 1200, completion_tokens: 40 } })
    await run.say('Hello', 'reply 40, conversation 1,240 tokens · first')
    world.server.answerNext({ text: 'Two.', usage: { total_tokens: 1300 } })
    await run.say('More', 'reply ~1, conversation 1,300 tokens · first')
    world.server.answerNext({ text: 'Three.', usage: { prompt_tokens: 1350, completion_tokens: 50 } })
    await run.say('More', 'reply 50, conversation 1,400 tokens · first')
    expect(await run.say('/info', /^transcript\b/m)).to.match(
      /^tokens +reply 50, conversation 1,400 tokens$/m,
    )
    await run.leave()
    const again = await world.resume()
    expect(await again.say('/info', /^transcript\b/m)).to.match(
      /^tokens +reply 50, conversation 1,400 tokens$/m,
    )
  })

  it('are an estimate of the texts without a count, also of the system message', async () => {
    const run = await world.run()
    world.server.answerNext({ text: 'x'.repeat(36) })
    await run.say('y'.repeat(6), 'reply ~9, conversation ~11 tokens')
    world.server.answerNext({ text: '数据库 ok' })
    await run.say('你好', 'reply ~4, conversation ~17 tokens')
    expect(await run.say('/info', /^transcript\b/m)).to.match(
      /^tokens +reply ~4, conversation ~17 tokens \(~: estimated from the text\)$/m,
    )
    await run.say(`/system ${'z'.repeat(40)}`, 'system: z')
    expect(await run.say('/info', /^system +z/m)).to.contain('reply ~4, conversation ~27 tokens')
  })

  it('are an estimate again for a message that the service did not count', async () => {
    const run = await world.run()
    world.server.answerNext({ text: 'One.', usage: { prompt_tokens: 1200, completion_tokens: 40 } })
    await run.say('Hello', 'reply 40, conversation 1,240 tokens')
    world.server.answerNext({ text: 'Two.' })
    await run.say('More', 'reply ~1, conversation ~5 tokens')
  })

  it('are not shown if they are unknown', async () => {
    const run = await world.run()
    expect(await run.say('/info', /^reasoning\b/m)).not.to.match(/^tokens\b/m)
    await run.leave()
    // Only the service has the beginning.
    world.plant([
      { type: 'options', at, mode: 'context', context_id: 'ctx_1' },
      { type: 'conversation', at, messages: [], lacks_beginning: true },
      { type: 'user', turn: 1, at, text: 'one' },
      { type: 'delta', turn: 1, text: 'You said: one' },
      { type: 'end', turn: 1, at, complete: true, verified: true },
    ])
    const other = await world.resume()
    expect(await other.say('/info', /^transcript\b/m)).to.match(/^tokens +reply ~4 tokens \(/m)
  })

  it('are on one line of a narrow terminal, with the other facts whole', async () => {
    const run = await world.run()
    run.terminal.resize(40)
    world.server.answerNext({ text: 'One.', usage: { prompt_tokens: 11, completion_tokens: 22 } })
    const shown = await run.say('Hello', footer)
    expect(shown).to.match(
      /^ {2}model-a ·\n {2}reply 22, conversation 33 tokens ·\n {2}first \d+\.\ds · total \d+\.\ds ·\n {2}conversation ctx_1$/m,
    )
  })
})
