import { expect } from 'chai'
import { takeSample } from '../../support/take-sample.ts'
import { converse, TalkSession } from './talk-session.ts'

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
  const { sample, words: which } = takeSample(moments, 3)

  for (const moment of sample) {
    it(`has everything shown in its transcript, and resumes (word ${moment}; ${which})`, async () => {
      const talk = await TalkSession.begin()
      try {
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
      } finally {
        await talk.end()
      }
    })
  }
})

function afterPrompt(screen: string): string {
  return screen.slice(screen.indexOf('> Count') + '> Count'.length)
}
