import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { SessionWorld } from './session-run.ts'

describe('a session that begins with options of the command line', () => {
  const world = perTest(() => SessionWorld.open())

  it('sends its first message, and then reads others', async () => {
    world.server.answerNext({ text: 'A log.' })
    const { terminal, say } = await world.run({ kind: 'new' }, { message: 'What is a log?' })
    await terminal.waitFor(/> What is a log\?[\s\S]*A log\.[\s\S]*total/)
    world.server.answerNext({ text: 'No.' })
    await say('Another?', /No\.[\s\S]*total/)
    expect(world.transcript().turns.map(({ user }) => user)).to.deep.equal(['What is a log?', 'Another?'])
  })

  it('sends a first message that looks like a command', async () => {
    world.server.answerNext({ text: 'A path.' })
    const { terminal } = await world.run({ kind: 'new' }, { message: '/etc is what?' })
    await terminal.waitFor(/A path\.[\s\S]*total/)
    expect(world.server.sends[0]).to.include({ message: '/etc is what?' })
  })

  it('requests completions with its system message', async () => {
    world.server.answerNext({ text: 'Brief.' })
    const { terminal } = await world.run({ kind: 'new' }, { message: 'Why is that?', system: 'Be brief' })
    await terminal.waitFor(/Brief\.[\s\S]*total/)
    expect(world.server.completions[0]?.messages).to.deep.equal([
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Why is that?' },
    ])
    expect(world.transcript()).to.include({ system: 'Be brief', mode: 'completions' })
  })

  it('writes neither a transcript nor the recalled input if it is not recorded', async () => {
    world.server.answerNext({ text: 'Gone.' })
    const given = { isRecorded: false, inputHistoryPath: undefined, message: 'A secret thing' }
    const { say, leave } = await world.run({ kind: 'new' }, given)
    await say('/name Secrets', 'not recorded, so it cannot be named')
    await say('/export secrets.md', 'not recorded, so it cannot be')
    await say('/info', /transcript +not recorded/)
    const shown = await leave()
    expect(shown).to.contain('This session is not recorded').and.not.to.contain('Resume with')
    expect(existsSync(world.directory)).to.equal(false)
    expect(existsSync(join(world.home, 'recall.jsonl'))).to.equal(false)
  })

  it('changes no transcript that it resumes without being recorded', async () => {
    world.server.answerNext({ text: 'One.' })
    const first = await world.run({ kind: 'new' }, { message: 'The first one' })
    await first.terminal.waitFor(/One\.[\s\S]*total/)
    await first.leave()
    const before = world.transcript()
    world.server.answerNext({ text: 'Two.' })
    const second = await world.resume({ isRecorded: false, message: 'The second one' })
    await second.terminal.waitFor(/Two\.[\s\S]*total/)
    await second.leave()
    expect(world.transcript()).to.deep.equal(before)
  })
})
