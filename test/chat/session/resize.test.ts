import { expect } from 'chai'
import stringWidth from 'string-width'
import { perTest } from '../../support/lifetime.ts'
import { type SessionRun, SessionWorld } from './session-run.ts'

describe('a reply during a resize of the terminal', () => {
  const world = perTest(() => SessionWorld.open())
  let run: SessionRun
  beforeEach(async () => {
    run = await world.run()
  })

  for (const [how, typed] of [
    ['with nothing below it', ''],
    ['with a line below it that is being typed', 'typed ahead'],
  ] as const) {
    it(`fills the new width immediately ${how}`, async () => {
      const first = Array.from({ length: 30 }, (_, index) => `a${index} `).join('')
      const second = Array.from({ length: 60 }, (_, index) => `b${index} `).join('')
      const reply = world.server.answerNext({ text: [first, second, 'end.'], held: true })
      run.terminal.type('Hello\r')
      await reply.begun
      reply.release(1)
      await run.terminal.waitFor('a29')
      if (typed !== '') {
        run.terminal.type(typed)
        await run.terminal.waitFor(typed)
      }
      run.terminal.resize(40)
      reply.release()
      const shown = await run.terminal.waitFor(/end\.[\s\S]*total/)
      const lines = shown.slice(shown.indexOf('b0 ')).split('\n')
      const own = lines.filter((line) => /^(b\d+ ?)+$/.test(line))
      expect(own.length).to.be.above(4)
      for (const line of own) expect(stringWidth(line)).to.be.within(30, 40)
      // No text is lost and no line is empty. The terminal may wrap inside a word.
      const words = shown.slice(shown.indexOf('a0'), shown.indexOf('end.')).trim()
      expect(words.replaceAll(/\s/g, '')).to.equal(`${first}${second}`.replaceAll(' ', ''))
      expect(words).not.to.contain('\n\n')
    })
  }
})
