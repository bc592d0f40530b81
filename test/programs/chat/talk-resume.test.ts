import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { describeSample } from '../../support/take-sample.ts'
import { count, TalkSession } from './talk-session.ts'

describeSample('a resumed session', 2, () => {
  const talk = perTest(() => TalkSession.begin())

  /** Runs a session with some turns, and returns its ID. */
  const leave = async (...said: string[]) => {
    const terminal = await talk.chat()
    for (const words of said) await terminal.converse(words)
    return terminal.leave()
  }
  const lastContext = () => talk.server.sends.at(-1)?.context_id

  it('shows the last two turns with --resume', async () => {
    const id = await leave('first', 'second', 'third')
    const terminal = await talk.chat(['--resume', id])
    const screen = await terminal.screen()
    expect(screen).to.contain('You said: second').and.contain('You said: third')
    expect(screen).not.to.contain('You said: first')
    await terminal.converse('fourth')
    expect(talk.server.sends.at(-1)).to.include({ context_id: 'ctx_1', message: 'fourth' })
    await terminal.leave()
    expect((await talk.sessions()).map(({ id: each, turns }) => [each, turns])).to.deep.equal([[id, 4]])
  })

  it('is continued with --continue from this machine, until a later message was sent elsewhere', async () => {
    const first = await talk.chat()
    await first.ask('/system be brief', 'system: be brief')
    await first.converse('Kept here')
    await first.leave()
    const second = await talk.chat(['--continue'])
    expect(await second.screen()).to.contain('> Kept here')
    await second.leave()
    await talk.run(['chat', 'send', 'outside'])
    const third = await talk.chat(['--continue'])
    expect(await third.screen()).to.contain('> outside')
  })

  it('is the last conversation with --continue, also one of chat send', async () => {
    await talk.run(['chat', 'send', 'said outside'])
    const terminal = await talk.chat(['--continue'])
    expect(await terminal.screen()).to.contain('You said: said outside')
    await terminal.converse('said inside')
    expect(lastContext()).to.equal('ctx_1')
    await terminal.leave()
    await talk.run(['chat', 'send', '--continue', 'outside again'])
    expect(lastContext()).to.equal('ctx_1')
  })

  it('is chosen from a list that typed words filter', async () => {
    for (const words of ['About lakes', 'About rivers']) await talk.run(['chat', 'send', words])
    const terminal = await talk.start(['chat', '--resume'])
    await terminal.waitFor('About lakes')
    await terminal.type('lak')
    await terminal.waitForNo('rivers')
    await terminal.key('Enter')
    await terminal.waitFor('> About lakes')
    await terminal.prompt()
    await terminal.leave()
    const left = await talk.start(['chat', '--resume'])
    await left.waitFor('About rivers')
    await left.key('C-c')
    expect(await left.exitCode()).to.equal(130)
  })

  it('can be any conversation of the service with --context', async () => {
    talk.server.say('ctx_9', 'user', 'An old question')
    talk.server.say('ctx_9', 'assistant', 'An old answer')
    const terminal = await talk.chat(['--context', 'ctx_9'])
    expect(await terminal.screen())
      .to.contain('An old question')
      .and.contain('An old answer')
    await terminal.converse('A new question')
    const sent = { message: 'A new question', context_id: 'ctx_9', stream: true }
    expect(talk.server.sends).to.deep.equal([sent])
  })

  it('marks messages that only the service has', async () => {
    const id = await leave('first')
    talk.server.say('ctx_1', 'user', 'asked elsewhere')
    talk.server.say('ctx_1', 'assistant', 'answered elsewhere')
    const terminal = await talk.chat(['--resume', id])
    const screen = await terminal.screen()
    expect(screen).to.contain('answered elsewhere').and.contain('[only in the history of the service]')
  })

  it('shows the reply that the service completed after an interruption', async () => {
    const { terminal } = await talk.partOf(['A half ', 'never sent'], { finishLater: 'A half and a whole.' })
    process.kill(await terminal.pid(), 'SIGKILL')
    await terminal.exitCode()
    const [session] = await talk.sessions()
    const resumed = await talk.chat(['--resume', session?.id ?? ''])
    expect(await resumed.screen()).to.contain('A half and a whole.')
  })

  it('can share its conversation with another session that runs at the same time', async () => {
    await leave('begin')
    const open = () => talk.chat(['--context', 'ctx_1'])
    const [one, two] = await Promise.all([open(), open()])
    await Promise.all([one.converse('from one'), two.converse('from two')])
    await Promise.all([one.converse('again one'), two.converse('again two')])
    for (const { context_id } of talk.server.sends.slice(1)) expect(context_id).to.equal('ctx_1')
    expect(talk.server.history('ctx_1')).to.have.length(10)
    for (const terminal of [one, two]) {
      await terminal.leave()
      expect(await terminal.exitCode()).to.equal(0)
    }
    const third = await talk.chat(['--continue'])
    const screen = await third.screen()
    expect(count(screen, 'You said: again one') + count(screen, 'You said: again two')).to.be.at.least(1)
  })

  it('has a separate transcript if the session is open in another terminal', async () => {
    const first = await talk.chat()
    await first.converse('begin')
    const [session] = await talk.sessions()
    const second = await talk.chat(['--resume', session?.id ?? ''])
    expect(await second.screen()).to.contain('open in another terminal')
    await Promise.all([first.converse('of the first'), second.converse('of the second')])
    const sessions = await talk.sessions()
    expect(sessions).to.have.length(2)
    const shown = await Promise.all(sessions.map(({ id }) => talk.run(['chat', 'show', id])))
    for (const words of ['of the first', 'of the second'])
      expect(shown.filter(({ stdout }) => stdout.includes(`You said: ${words}`))).to.have.length(1)
  })
})
