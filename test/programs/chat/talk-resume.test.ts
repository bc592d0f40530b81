import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { describeSample } from '../../support/take-sample.ts'
import { converse, count, hasPrompt, TalkSession, waitForTurn } from './talk-session.ts'

describeSample('a resumed session', 2, () => {
  const talk = perTest(() => TalkSession.begin())

  /** Runs a session with some turns, and returns its ID. */
  const leave = async (...said: string[]) => {
    const terminal = await talk.chat()
    for (const words of said) await converse(terminal, words)
    await terminal.key('C-d')
    await terminal.exitCode()
    return /--resume (\S+)/.exec(await terminal.screen())?.[1] ?? ''
  }

  it('shows the last two turns with --resume', async () => {
    const id = await leave('first', 'second', 'third')
    const terminal = await talk.chat(['--resume', id])
    const screen = await terminal.screen()
    expect(screen).to.contain('You said: second')
    expect(screen).to.contain('You said: third')
    expect(screen).not.to.contain('You said: first')
    await converse(terminal, 'fourth')
    expect(talk.server.sends.at(-1)).to.include({ context_id: 'ctx_1', message: 'fourth' })
    await terminal.key('C-d')
    await terminal.exitCode()
    const sessions = (await talk.json('chat', 'sessions')) as { id: string; turns: number }[]
    expect(sessions.map(({ id: each, turns }) => [each, turns])).to.deep.equal([[id, 4]])
  })

  it('is continued with --continue from this machine, until a later message was sent elsewhere', async () => {
    const first = await talk.chat()
    await first.say('/system be brief')
    await first.waitFor('system: be brief')
    await first.say('Kept here')
    await waitForTurn(first, 'You said: Kept here')
    await first.key('C-d')
    await first.exitCode()
    const second = await talk.chat(['--continue'])
    expect(await second.screen()).to.contain('> Kept here')
    await second.key('C-d')
    await second.exitCode()
    await talk.run(['chat', 'send', 'outside'])
    const third = await talk.chat(['--continue'])
    expect(await third.screen()).to.contain('> outside')
  })

  it('is the last conversation with --continue, also one of chat send', async () => {
    await talk.run(['chat', 'send', 'said outside'])
    const terminal = await talk.chat(['--continue'])
    expect(await terminal.screen()).to.contain('You said: said outside')
    await converse(terminal, 'said inside')
    expect(talk.server.sends.at(-1)?.context_id).to.equal('ctx_1')
    await terminal.key('C-d')
    await terminal.exitCode()
    await talk.run(['chat', 'send', '--continue', 'outside again'])
    expect(talk.server.sends.at(-1)?.context_id).to.equal('ctx_1')
  })

  it('is chosen from a list that typed words filter', async () => {
    await talk.run(['chat', 'send', 'About lakes'])
    await talk.run(['chat', 'send', 'About rivers'])
    const terminal = await talk.start(['chat', '--resume'])
    await terminal.waitFor('About lakes')
    await terminal.type('lak')
    await terminal.waitForNo('rivers')
    await terminal.key('Enter')
    await terminal.waitFor('> About lakes')
    await terminal.waitUntil(hasPrompt, 'the prompt')
    await terminal.key('C-d')
    await terminal.exitCode()
    const left = await talk.start(['chat', '--resume'])
    await left.waitFor('About rivers')
    await left.key('C-c')
    expect(await left.exitCode()).to.equal(130)
  })

  it('can be any conversation of the service with --context', async () => {
    talk.server.say('ctx_9', 'user', 'An old question')
    talk.server.say('ctx_9', 'assistant', 'An old answer')
    const terminal = await talk.chat(['--context', 'ctx_9'])
    const screen = await terminal.screen()
    expect(screen).to.contain('An old question')
    expect(screen).to.contain('An old answer')
    await converse(terminal, 'A new question')
    expect(talk.server.sends).to.deep.equal([
      { message: 'A new question', context_id: 'ctx_9', stream: true },
    ])
  })

  it('marks messages that only the service has', async () => {
    const id = await leave('first')
    talk.server.say('ctx_1', 'user', 'asked elsewhere')
    talk.server.say('ctx_1', 'assistant', 'answered elsewhere')
    const terminal = await talk.chat(['--resume', id])
    const screen = await terminal.screen()
    expect(screen).to.contain('answered elsewhere')
    expect(screen).to.contain('[only in the history of the service]')
  })

  it('shows the reply that the service completed after an interruption', async () => {
    const answer = talk.server.answerNext({
      text: ['A half ', 'never sent'],
      held: true,
      finishLater: 'A half and a whole.',
    })
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await answer.begun
    answer.release(1)
    await terminal.waitFor('A half')
    process.kill(await terminal.pid(), 'SIGKILL')
    await terminal.exitCode()
    const [session] = (await talk.json('chat', 'sessions')) as { id: string }[]
    const resumed = await talk.chat(['--resume', session?.id ?? ''])
    expect(await resumed.screen()).to.contain('A half and a whole.')
  })

  it('can share its conversation with another session that runs at the same time', async () => {
    await leave('begin')
    const [one, two] = await Promise.all([
      talk.chat(['--context', 'ctx_1']),
      talk.chat(['--context', 'ctx_1']),
    ])
    await Promise.all([converse(one, 'from one'), converse(two, 'from two')])
    await Promise.all([converse(one, 'again one'), converse(two, 'again two')])
    expect(
      talk.server.sends.every(({ context_id }, index) => index === 0 || context_id === 'ctx_1'),
    ).to.equal(true)
    expect(talk.server.history('ctx_1')).to.have.length(10)
    for (const terminal of [one, two]) {
      await terminal.key('C-d')
      expect(await terminal.exitCode()).to.equal(0)
    }
    const third = await talk.chat(['--continue'])
    const screen = await third.screen()
    expect(count(screen, 'You said: again one') + count(screen, 'You said: again two')).to.be.at.least(1)
  })

  it('has a separate transcript if the session is open in another terminal', async () => {
    const first = await talk.chat()
    await converse(first, 'begin')
    const [session] = (await talk.json('chat', 'sessions')) as { id: string }[]
    const second = await talk.chat(['--resume', session?.id ?? ''])
    expect(await second.screen()).to.contain('open in another terminal')
    await Promise.all([converse(first, 'of the first'), converse(second, 'of the second')])
    const sessions = (await talk.json('chat', 'sessions')) as { id: string }[]
    expect(sessions).to.have.length(2)
    const shown = await Promise.all(sessions.map(({ id }) => talk.run(['chat', 'show', id])))
    for (const words of ['of the first', 'of the second']) {
      expect(shown.filter(({ stdout }) => stdout.includes(`You said: ${words}`))).to.have.length(1)
    }
  })
})
