import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { failing, limited, reset } from '../../support/scripted-server.ts'
import { describeSample, takeSample } from '../../support/take-sample.ts'
import { count, hasPrompt, TalkSession } from './talk-session.ts'

const part = 'The first half '
const truncated = `[truncated after ${part.length} characters`

describeSample('a session with a network failure', 2, () => {
  const talk = perTest(() => TalkSession.begin())

  const whole = 'The first half and the second half.'

  for (const ending of ['reset', 'unmarked', 'stalled'] as const) {
    const timeout = ['--timeout', '5s']
    it(`shows how much of a reply arrived, reads the history, and shows the rest (${ending})`, async () => {
      talk.server.answerNext({ text: part, ending, finishLater: whole })
      const terminal = await talk.chat(timeout)
      await terminal.ask('Hello', truncated)
      expect(count(await terminal.waitFor('and the second half.'), 'The first half')).to.equal(1)
      await terminal.prompt()
      expect(talk.sent).to.have.length(1)
      expect((await talk.turns(await terminal.leave()))[0]?.answer).to.contain(whole)
    })

    it(`keeps the part if the history has no more of the reply (${ending})`, async () => {
      talk.server.answerNext({ text: part, ending })
      const terminal = await talk.chat(timeout)
      await terminal.ask('Hello', truncated)
      const isRead = () => talk.server.requestsOf('/api/chat/history').length > 0
      await terminal.waitUntil((screen) => isRead() && hasPrompt(screen), 'the prompt')
      expect(await terminal.screen()).to.contain('The first half')
      expect(talk.sent).to.have.length(1)
      await terminal.converse('Still here')
    })
  }

  it('reports a stalled reply, and keeps its part after Ctrl-C', async () => {
    talk.server.answerNext({ text: part, ending: 'stalled', finishLater: whole })
    const terminal = await talk.chat()
    await terminal.ask('Hello', /no more text yet.*Ctrl-C/)
    await terminal.key('C-c')
    await terminal.waitFor(/The first half\s+\[interrupted\]/)
    await terminal.prompt()
    await terminal.ask('/continue', 'and the second half.')
    expect(talk.sent).to.have.length(1)
  })

  it('stays open if the history cannot be read either', async () => {
    talk.server.answerNext({ text: part, ending: 'reset', finishLater: whole })
    talk.server.faults.set('/api/chat/history', Array(5).fill(reset))
    const terminal = await talk.chat(['--retries', '0'])
    await terminal.command('Hello', truncated)
    await terminal.converse('Still here')
  })

  it('sends nothing twice if the outcome is unknown, and returns the message to the input line', async () => {
    talk.server.failNext(reset)
    const terminal = await talk.chat()
    await terminal.say('Only once')
    await terminal.prompt('Only once')
    await terminal.settle()
    expect(talk.sent).to.have.length(1)
    await terminal.key('Enter')
    await terminal.turn('You said: Only once')
  })

  it('shows how to sign in after a 401, and stays open', async () => {
    talk.server.failNext(failing(401, 'invalid_api_key', 'The key is not valid'))
    const terminal = await talk.chat()
    await terminal.ask('Hello', 'The key is not valid')
    await terminal.waitFor(/chatctl auth login|CHATCTL_API_KEY/)
    await terminal.prompt('Hello')
    await terminal.key('Enter')
    await terminal.turn('You said: Hello')
  })

  it('reads streams in every notation', async () => {
    const terminal = await talk.chat()
    for (const shape of ['events', 'openai', 'ndjson', 'text'] as const) {
      talk.server.answerNext({ text: ['A reply ', `as ${shape}.`], shape })
      expect(await terminal.converse('Hello', `A reply as ${shape}.`)).not.to.contain('truncated')
    }
  })
})

describeSample('a session with interruptions', 2, () => {
  const talk = perTest(() => TalkSession.begin())

  it('stops a reply immediately with Ctrl-C, keeps its text, and stays open', async () => {
    const { terminal, answer } = await talk.partOf(['As far as ', 'this and ', 'no further'], { pieces: 2 })
    const pressed = performance.now()
    await terminal.key('C-c')
    await answer.abandoned
    // Most of this time is that of tmux.
    expect(performance.now() - pressed).to.be.below(500)
    await terminal.waitFor(/As far as this and[\s\S]*\[interrupted\]/)
    await terminal.prompt()
    await terminal.converse('Go on')
    expect(talk.sent).to.deep.equal(['Hello', 'Go on'])
    const shown = await talk.run(['chat', 'show', await terminal.leave()])
    expect(shown.stdout).to.contain('As far as this and').and.contain('[interrupted')
  })

  it('cancels a request without a reply with Ctrl-C, and returns the message to the input line', async () => {
    const answer = talk.server.answerNext({ text: 'never', held: true })
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await answer.begun
    await terminal.key('C-c')
    await answer.abandoned
    await terminal.prompt('Hello')
    await terminal.key('C-u')
    await terminal.converse('Still here')
  })

  it('ends the countdown of a rate limit with Ctrl-C, and returns the message to the input line', async () => {
    talk.server.failNext(limited({ 'retry-after': '30' }))
    const terminal = await talk.chat()
    const first = await terminal.ask('Too much', /\b(2\d|30) s/)
    await terminal.waitUntil((screen) => screen !== first && /\b(2\d) s/.test(screen), 'the countdown')
    await terminal.key('C-c')
    await terminal.prompt('Too much')
    expect(talk.sent).to.have.length(1)
    await terminal.key('Enter')
    await terminal.turn('You said: Too much')
  })

  it('does not wait longer than --max-wait, and returns the message to the input line', async () => {
    talk.server.failNext(limited({ 'retry-after': '3600' }))
    const terminal = await talk.chat()
    await terminal.ask('Too much', '--max-wait')
    await terminal.prompt('Too much')
    expect(talk.sent).to.have.length(1)
  })

  it('sends a message again after a short rate limit, once', async () => {
    talk.server.failNext(limited({ 'retry-after': '1' }))
    const terminal = await talk.chat()
    expect(count(await terminal.converse('Hello'), 'You said: Hello')).to.equal(1)
    expect(talk.sent).to.have.length(2)
    expect(talk.server.history().filter(({ role }) => role === 'user')).to.have.length(1)
  })
})

/** Numbered words in various kinds of markdown, so that missing or repeated words are detected. */
const numbered = Array.from({ length: 400 }, (_, index) => `w${String(index).padStart(3, '0')}`)
const decorations: Record<number, (word: string) => string> = {
  0: (word) => `\n\n## ${word} `,
  5: (word) => `\n\n${word} `,
  12: (word) => `**${word} `,
  14: (word) => `${word}** `,
  20: (word) => `\n\n- ${word} `,
  25: (word) => `\n- ${word} `,
  30: (word) => `\n\n\`\`\`js\n${word}\n`,
  35: (word) => `${word}\n\`\`\`\n\n`,
}
const decorated = numbered.map((word, index) => decorations[index % 40]?.(word) ?? `${word} `)

/** The numbered words of a text. The last one may be incomplete. */
const wordsOf = (text: string) => text.match(/w\d{0,3}/g) ?? []

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
      const shown = wordsOf((await terminal.scrollback()).replace(/^[\s\S]*?> Count/, ''))
      expect(shown.length).to.be.above(moment)

      const [turn, ...others] = await talk.turns()
      expect([turn?.user, others]).to.deep.equal(['Count', []])
      const kept = wordsOf(turn?.answer ?? '').join('')
      expect(numbered.join('').startsWith(kept), 'the transcript is the beginning').to.equal(true)
      expect(kept.startsWith(shown.join('')), `${shown.at(-1)} was shown, ${kept.slice(-8)} kept`).to.equal(
        true,
      )

      const resumed = await talk.chat(['--resume', (await talk.sessions())[0]?.id ?? ''], { rows: 60 })
      expect(await resumed.scrollback()).to.contain('Count')
      await resumed.converse('Go on')
      expect(talk.server.sends.at(-1)?.context_id).to.equal('ctx_1')
    })
  }
})
