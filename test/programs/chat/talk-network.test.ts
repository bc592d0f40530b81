import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { failing, reset } from '../../support/scripted-server.ts'
import { describeSample } from '../../support/take-sample.ts'
import type { Tmux } from '../tmux.ts'
import { converse, count, hasPrompt, promptOf, TalkSession, waitForTurn } from './talk-session.ts'

describeSample('a session with a network failure', 3, () => {
  const talk = perTest(() => TalkSession.begin())

  const givenBack = (terminal: Tmux, text: string) =>
    terminal.waitUntil((screen) => promptOf(screen) === text, `"${text}" in the prompt`)

  const part = 'The first half '
  const whole = 'The first half and the second half.'

  for (const ending of ['reset', 'unmarked', 'stalled'] as const) {
    const timeout = ['--timeout', '5s']
    it(`shows how much of a reply arrived, reads the history, and shows the rest (${ending})`, async () => {
      talk.server.answerNext({ text: part, ending, finishLater: whole })
      const terminal = await talk.chat(timeout)
      await terminal.say('Hello')
      await terminal.waitFor(`[truncated after ${part.length} characters`)
      const screen = await terminal.waitFor('and the second half.')
      expect(count(screen, 'The first half')).to.equal(1)
      await terminal.waitUntil(hasPrompt, 'the prompt')
      expect(talk.server.sends).to.have.length(1)
      await terminal.key('C-d')
      const [, id] = /--resume (\S+)/.exec(await terminal.waitFor('--resume')) ?? []
      expect((await talk.run(['chat', 'show', id ?? ''])).stdout).to.contain(whole)
    })

    it(`keeps the part if the history has no more of the reply (${ending})`, async () => {
      talk.server.answerNext({ text: part, ending })
      const terminal = await talk.chat(timeout)
      await terminal.say('Hello')
      await terminal.waitFor(`[truncated after ${part.length} characters`)
      await terminal.waitUntil(
        (screen) => talk.server.requestsOf('/api/chat/history').length > 0 && hasPrompt(screen),
        'the prompt',
      )
      expect(await terminal.screen()).to.contain('The first half')
      expect(talk.server.sends).to.have.length(1)
      await converse(terminal, 'Still here')
    })
  }

  it('reports a stalled reply, and keeps its part after Ctrl-C', async () => {
    talk.server.answerNext({ text: part, ending: 'stalled', finishLater: whole })
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await terminal.waitFor(/no more text yet.*Ctrl-C/)
    await terminal.key('C-c')
    await terminal.waitFor(/The first half\s+\[interrupted\]/)
    await terminal.waitUntil(hasPrompt, 'the prompt')
    await terminal.say('/continue')
    await terminal.waitFor('and the second half.')
    expect(talk.server.sends).to.have.length(1)
  })

  it('stays open if the history cannot be read either', async () => {
    talk.server.answerNext({ text: part, ending: 'reset', finishLater: whole })
    talk.server.faults.set('/api/chat/history', Array(5).fill(reset))
    const terminal = await talk.chat(['--retries', '0'])
    await terminal.say('Hello')
    await terminal.waitFor(`[truncated after ${part.length} characters`)
    await terminal.waitUntil(hasPrompt, 'the prompt')
    await converse(terminal, 'Still here')
  })

  it('sends nothing twice if the outcome is unknown, and returns the message to the input line', async () => {
    talk.server.failNext(reset)
    const terminal = await talk.chat()
    await terminal.say('Only once')
    await givenBack(terminal, 'Only once')
    await terminal.settle()
    expect(talk.server.sends).to.have.length(1)
    await terminal.key('Enter')
    await waitForTurn(terminal, 'You said: Only once')
  })

  it('shows how to sign in after a 401, and stays open', async () => {
    talk.server.failNext(failing(401, 'invalid_api_key', 'The key is not valid'))
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await terminal.waitFor('The key is not valid')
    await terminal.waitFor(/chatctl auth login|CHATCTL_API_KEY/)
    await givenBack(terminal, 'Hello')
    await terminal.key('Enter')
    await waitForTurn(terminal, 'You said: Hello')
  })

  it('reads streams in every notation', async () => {
    const terminal = await talk.chat()
    for (const shape of ['events', 'openai', 'ndjson', 'text'] as const) {
      talk.server.answerNext({ text: ['A reply ', `as ${shape}.`], shape })
      await terminal.say('Hello')
      const screen = await waitForTurn(terminal, `A reply as ${shape}.`)
      await terminal.waitUntil(hasPrompt, 'the prompt')
      expect(screen).not.to.contain('truncated')
    }
  })
})
