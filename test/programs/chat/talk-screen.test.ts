import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { describeSample } from '../../support/take-sample.ts'
import { count, promptOf, TalkSession } from './talk-session.ts'

/** Numbered lines, so that missing or repeated lines are detected. */
const numberedLines = (to: number) => Array.from({ length: to }, (_, index) => `line ${index + 1}.`)

function expectEachOnce(shown: string, lines: readonly string[]): void {
  for (const line of lines) expect(count(shown, line), line).to.equal(1)
}

describeSample('the screen of a session', 2, () => {
  const talk = perTest(() => TalkSession.begin())

  it('shows a paste of 42 lines as a placeholder, and sends all of it', async () => {
    const terminal = await talk.chat()
    const pasted = numberedLines(42).join('\n')
    await terminal.type('Look: ')
    await terminal.paste(`${pasted}\n`)
    expect(await terminal.waitFor('[pasted 42 lines]')).not.to.contain('line 3.')
    await terminal.settle()
    expect(talk.sent).to.deep.equal([])
    await terminal.key('Enter')
    await terminal.waitFor(/total [\d.]+s/)
    expect(talk.sent[0]?.trimEnd()).to.equal(`Look: ${pasted}`)
  })

  it('redraws only the editor if the size changes while a person types', async () => {
    talk.server.answerNext(numberedLines(60).join('\n\n'))
    const terminal = await talk.chat()
    await terminal.converse('Count', 'line 60.')
    const draft =
      'a draft that is long enough to be wrapped, even if a terminal has eighty columns to put it in'
    await terminal.type(draft)
    const hasDraft = (screen: string) =>
      promptOf(screen).replaceAll(/\s/g, '') === draft.replaceAll(/\s/g, '')
    await terminal.waitUntil(hasDraft, 'the draft')
    for (const [columns, rows] of [
      [40, 24],
      [60, 10],
      [33, 30],
      [100, 24],
      [80, 24],
    ] as const) {
      await terminal.resize(columns, rows)
      await terminal.waitUntil(hasDraft, `the draft at ${columns} columns`)
    }
    await terminal.settle()
    expectEachOnce(await terminal.scrollback(), [...numberedLines(60), 'a draft that', '> Count'])
  })

  it('shows each line once if the size changes during a reply', async () => {
    const lines = numberedLines(80)
    const answer = talk.server.answerNext({ text: lines.map((line) => `${line}\n\n`), held: true })
    const terminal = await talk.chat()
    await terminal.say('Count')
    await answer.begun
    for (const [shown, columns, rows] of [
      [20, 50, 24],
      [40, 40, 12],
      [60, 100, 30],
      [80, 80, 24],
    ] as const) {
      answer.release(20)
      await terminal.waitFor(`line ${shown - 1}.`)
      await terminal.resize(columns, rows)
      await terminal.settle(50)
    }
    answer.release()
    await terminal.turn('line 80.')
    await terminal.settle()
    const all = await terminal.scrollback()
    expectEachOnce(all, lines)
    expect(all.split('\n').filter((line) => line === '>')).to.have.length(1)
  })

  for (const [name, letters, columns] of [
    ['a row is full to its edge', 'xx', 21],
    ['a wide character does not fit at the edge', '漢', 41],
  ] as const) {
    it(`loses nothing if ${name} after the terminal has wrapped an unfinished line`, async () => {
      const words = Array.from({ length: 19 }, (_, index) => `${letters}${String.fromCharCode(97 + index)} `)
      const answer = talk.server.answerNext({ text: words, held: true })
      const terminal = await talk.chat()
      await terminal.say('Count')
      await answer.begun
      answer.release(14)
      await terminal.waitFor(`${letters}m`)
      // So that something below the reply has to be drawn again.
      await terminal.type('draft')
      await terminal.waitFor('> draft')
      await terminal.resize(columns)
      // tmux reports a second resize to the program with a delay.
      await terminal.settle(400)
      for (let left = 5; left > 0; left--) {
        answer.release(1)
        await terminal.settle(60)
      }
      answer.release()
      await terminal.waitFor(/total/)
      const shown = (await terminal.scrollback()).replaceAll(/\s/g, '')
      expect(shown).to.contain(words.join('').replaceAll(' ', ''))
    })
  }

  it('writes each word of a reply once', async () => {
    const words = Array.from({ length: 300 }, (_, index) => `word-${index};`)
    const text = words.map((word, index) => `${index % 50 === 0 ? '\n\n- ' : ''}${word} `)
    talk.server.answerNext({ text, pause: 1 })
    const terminal = await talk.chat()
    const written = await terminal.record(join(talk.sandbox.home, 'written'))
    await terminal.say('Count')
    await terminal.type('typed meanwhile')
    await terminal.turn('word-299;')
    expectEachOnce(written(), words)
    expect(written()).not.to.match(/␛\[\?(1049|1000|1002|1003)h/)
  })

  it('accepts input during a reply', async () => {
    const { terminal, answer } = await talk.partOf(['The reply ', 'comes ', 'slowly.'])
    await terminal.type('And then')
    await terminal.waitFor('And then')
    answer.release(1)
    await terminal.waitFor('The reply comes')
    await terminal.type('?')
    answer.release()
    expect(promptOf(await terminal.turn('The reply comes slowly.'))).to.equal('And then?')
    expect(talk.sent).to.have.length(1)
    await terminal.key('Enter')
    await terminal.turn('You said: And then?')
  })

  it('sends messages that were submitted during a reply, one after the other', async () => {
    const { terminal, answer } = await talk.partOf(['The reply ', 'is over.'])
    await terminal.say('two')
    await terminal.ask('three', /queued: two\nqueued: three/)
    expect(talk.sent).to.have.length(1)
    answer.release()
    await terminal.turn('You said: three')
    expect(await terminal.prompt()).to.match(
      /> Hello\n[\s\S]*is over\.[\s\S]*> two\n\nYou said: two[\s\S]*> three\n\nYou said: three/,
    )
    expect(talk.sent).to.deep.equal(['Hello', 'two', 'three'])
  })

  it('keeps the scrollback, without an alternate screen or mouse events', async () => {
    const shell = await talk.shell()
    await shell.ask('seq 1000 1040', '1040')
    await shell.say('"$NODE" "$CHATCTL" chat')
    await shell.prompt()
    expect(await shell.query('#{alternate_on}#{mouse_any_flag}')).to.equal('00')
    await shell.converse('Hello')
    await shell.key('C-d')
    await shell.waitFor('Resume with')
    const all = await shell.scrollback()
    expectEachOnce(
      all,
      Array.from({ length: 41 }, (_, index) => `\n${1000 + index}`),
    )
    expect(all).to.contain('You said: Hello')
  })

  it('renders markdown, and shows it unrendered with --plain', async () => {
    const markdown = '# A title\n\nSome **bold** text.\n\n- one\n- two\n\n```js\nconst a = 1\n```\n\nThe end.'
    talk.server.answerNext(markdown)
    talk.server.answerNext(markdown)
    const terminal = await talk.chat()
    const rendered = await terminal.converse('Hello', 'The end.')
    expect(rendered)
      .to.match(/Some bold text\./)
      .and.not.contain('```')
    expect(await terminal.styledScreen()).to.match(/␛\[1m(␛\[[\d;]*m)*bold/)
    const plain = await talk.chat(['--plain'])
    expect(await plain.converse('Hello', 'The end.')).to.contain(markdown)
  })
})
