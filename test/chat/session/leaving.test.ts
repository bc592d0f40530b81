import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { SessionWorld } from './session-run.ts'

describe('an idle session', () => {
  const world = perTest(() => SessionWorld.open())

  it('ends with the second Ctrl-C within two seconds, but not with a later one', async () => {
    const clock = new SteppedClock()
    const { terminal, say } = await world.run({ kind: 'new' }, { clock })
    world.server.answerNext({ text: 'A reply.' })
    await say('Hello', /A reply\.[\s\S]*total/)
    expect(world.transcript().turns[0]?.at).to.equal('2026-03-01T12:00:00.000Z')
    terminal.type('\u0003')
    await terminal.waitFor('Ctrl-C again')
    clock.pass(2_000)
    terminal.type('\u0003')
    await say('/help', '/quit')
    expect(await terminal.text()).not.to.contain('Resume with')
    clock.pass(1_999)
    terminal.type('\u0003')
    await terminal.waitFor('1 turn: Hello\nResume with')
  })
})
