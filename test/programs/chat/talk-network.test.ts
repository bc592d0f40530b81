import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { failing, limited, reset } from '../../support/scripted-server.ts'
import { describeSample, takeSample } from '../../support/take-sample.ts'
import type { Tmux } from '../tmux.ts'
import { converse, count, hasPrompt, promptOf, TalkSession, waitForTurn } from './talk-session.ts'

describeSample('a session with a network failure', 2, () => {
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

describeSample('a session with interruptions', 2, () => {
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

const words = 400
/** Numbered words in various kinds of markdown, so that missing or repeated words are detected. */
const numbered = Array.from({ length: words }, (_, index) => `w${String(index).padStart(3, '0')}`)
const decorated = numbered.map((word, index) => {
  if (index % 40 === 0) return `\n\n## ${word} `
  if (index % 40 === 5) return `\n\n${word} `
  if (index % 40 === 12) return `**${word} `
  if (index % 40 === 14) return `${word}** `
  if (index % 40 === 20) return `\n\n- ${word} `
  if (index % 40 === 25) return `\n- ${word} `
  if (index % 40 === 30) return `\n\n\`\`\`js\n${word}\n`
  if (index % 40 === 35) return `${word}\n\`\`\`\n\n`
  return `${word} `
})

/** The numbered words of a text. The last one may be incomplete. */
function wordsOf(text: string): string[] {
  return text.match(/w\d{0,3}/g) ?? []
}

describe('a session that is killed during a reply', () => {
  // The session is killed after the word with this number has been shown.
  const moments = Array.from({ length: 50 }, (_, index) => 3 + index * 7)
  const { sample, words: which } = takeSample(moments, 1)

  for (const moment of sample) {
    it(`has everything shown in its transcript, and resumes (word ${moment}; ${which})`, async () => {
      await using talk = await TalkSession.begin()
      talk.server.answerNext({ text: decorated, pause: 1 })
      const terminal = await talk.chat([], { rows: 60 })
      await terminal.say('Count')
      const word = numbered[moment] ?? ''
      await terminal.waitUntilShown((all) => all.includes(word), word)
      process.kill(await terminal.pid(), 'SIGKILL')
      expect(await terminal.exitCode()).to.equal(null)
      const shown = wordsOf(afterPrompt(await terminal.scrollback()))
      expect(shown.length).to.be.above(moment)

      const [session] = (await talk.json('chat', 'sessions')) as { id: string }[]
      const { stdout, exitCode } = await talk.run(['chat', 'show', session?.id ?? '', '--json'])
      expect(exitCode).to.equal(0)
      const { turns } = JSON.parse(stdout)
      expect(turns).to.have.length(1)
      expect(turns[0].user).to.equal('Count')
      const kept = wordsOf(turns[0].answer).join('')
      expect(numbered.join('').startsWith(kept), 'the transcript is the beginning of the reply').to.equal(
        true,
      )
      expect(
        kept.startsWith(shown.join('')),
        `${shown.at(-1)} was shown, ${kept.slice(-8)} was kept`,
      ).to.equal(true)

      const resumed = await talk.chat(['--resume', session?.id ?? ''], { rows: 60 })
      expect(await resumed.scrollback()).to.contain('Count')
      await converse(resumed, 'Go on')
      expect(talk.server.sends.at(-1)?.context_id).to.equal('ctx_1')
    })
  }
})

function afterPrompt(screen: string): string {
  return screen.slice(screen.indexOf('> Count') + '> Count'.length)
}
