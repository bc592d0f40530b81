import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { limited } from '../../support/scripted-server.ts'
import { converse, count, hasPrompt, promptOf, TalkSession, waitForTurn } from './talk-session.ts'

describe('a session with interruptions', () => {
  const talk = perTest(() => TalkSession.begin())

  it('stops a reply immediately with Ctrl-C, keeps its text, and stays open', async () => {
    const answer = talk.server.answerNext({ text: ['As far as ', 'this and ', 'no further'], held: true })
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await answer.begun
    answer.release(2)
    await terminal.waitFor('As far as this')
    const pressed = performance.now()
    await terminal.key('C-c')
    await answer.abandoned
    // Most of this time is that of tmux.
    expect(performance.now() - pressed).to.be.below(500)
    await terminal.waitFor(/As far as this and[\s\S]*\[interrupted\]/)
    await terminal.waitUntil(hasPrompt, 'the prompt')
    await converse(terminal, 'Go on')
    expect(talk.server.sends.map(({ message }) => message)).to.deep.equal(['Hello', 'Go on'])
    await terminal.key('C-d')
    const [, id] = /--resume (\S+)/.exec(await terminal.waitFor('--resume')) ?? []
    const shown = await talk.run(['chat', 'show', id ?? ''])
    expect(shown.stdout).to.contain('As far as this and')
    expect(shown.stdout).to.contain('[interrupted')
  })

  it('cancels a request without a reply with Ctrl-C, and returns the message to the input line', async () => {
    const answer = talk.server.answerNext({ text: 'never', held: true })
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await answer.begun
    await terminal.key('C-c')
    await answer.abandoned
    await terminal.waitUntil((screen) => promptOf(screen) === 'Hello', 'the text in the prompt')
    await terminal.key('C-u')
    await converse(terminal, 'Still here')
  })

  it('ends the countdown of a rate limit with Ctrl-C, and returns the message to the input line', async () => {
    talk.server.failNext(limited({ 'retry-after': '30' }))
    const terminal = await talk.chat()
    await terminal.say('Too much')
    const first = await terminal.waitFor(/\b(2\d|30) s/)
    await terminal.waitUntil((screen) => screen !== first && /\b(2\d) s/.test(screen), 'the countdown')
    await terminal.key('C-c')
    await terminal.waitUntil((screen) => promptOf(screen) === 'Too much', 'the text in the prompt')
    expect(talk.server.sends).to.have.length(1)
    await terminal.key('Enter')
    await waitForTurn(terminal, 'You said: Too much')
  })

  it('does not wait longer than --max-wait, and returns the message to the input line', async () => {
    talk.server.failNext(limited({ 'retry-after': '3600' }))
    const terminal = await talk.chat()
    await terminal.say('Too much')
    await terminal.waitFor('--max-wait')
    await terminal.waitUntil((screen) => promptOf(screen) === 'Too much', 'the text in the prompt')
    expect(talk.server.sends).to.have.length(1)
  })

  it('sends a message again after a short rate limit, once', async () => {
    talk.server.failNext(limited({ 'retry-after': '1' }))
    const terminal = await talk.chat()
    const screen = await converse(terminal, 'Hello')
    expect(talk.server.sends).to.have.length(2)
    expect(count(screen, 'You said: Hello')).to.equal(1)
    expect(talk.server.history().filter(({ role }) => role === 'user')).to.have.length(1)
  })
})
