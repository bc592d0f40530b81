import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { describeSample } from '../../support/take-sample.ts'
import { converse, count, hasPrompt, promptOf, TalkSession, waitForTurn } from './talk-session.ts'

/** Numbered lines, so that missing or repeated lines are detected. */
function numberedLines(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}.`).join('\n')
}

describeSample('the screen of a session', 2, () => {
  const talk = perTest(() => TalkSession.begin())

  it('shows a paste of 42 lines as a placeholder, and sends all of it', async () => {
    const terminal = await talk.chat()
    await terminal.type('Look: ')
    await terminal.paste(`${numberedLines(1, 42)}\n`)
    const screen = await terminal.waitFor('[pasted 42 lines]')
    expect(screen).not.to.contain('line 3.')
    await terminal.settle()
    expect(talk.server.sends).to.deep.equal([])
    await terminal.key('Enter')
    await terminal.waitFor(/total [\d.]+s/)
    expect(talk.server.sends[0]?.message?.trimEnd()).to.equal(`Look: ${numberedLines(1, 42)}`)
  })

  it('redraws only the editor if the size changes while a person types', async () => {
    talk.server.answerNext(numberedLines(1, 60).replaceAll('\n', '\n\n'))
    const terminal = await talk.chat()
    await converse(terminal, 'Count', 'line 60.')
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
    const all = await terminal.scrollback()
    for (let line = 1; line <= 60; line++) expect(count(all, `line ${line}.`), `line ${line}`).to.equal(1)
    expect(count(all, 'a draft that')).to.equal(1)
    expect(count(all, '> Count')).to.equal(1)
  })

  it('shows each line once if the size changes during a reply', async () => {
    const lines = Array.from({ length: 80 }, (_, index) => `line ${index + 1}.\n\n`)
    const answer = talk.server.answerNext({ text: lines, held: true })
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
    await waitForTurn(terminal, 'line 80.')
    await terminal.settle()
    const all = await terminal.scrollback()
    for (let line = 1; line <= 80; line++) expect(count(all, `line ${line}.`), `line ${line}`).to.equal(1)
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
    const words = Array.from({ length: 300 }, (_, index) => `word-${index}; `)
    const kinds = words.map((word, index) => (index % 50 === 0 ? `\n\n- ${word}` : word))
    talk.server.answerNext({ text: kinds, pause: 1 })
    const terminal = await talk.chat()
    const written = await terminal.record(join(talk.sandbox.home, 'written'))
    await terminal.say('Count')
    await terminal.type('typed meanwhile')
    await waitForTurn(terminal, 'word-299;')
    for (let index = 0; index < 300; index++) expect(count(written(), `word-${index};`)).to.equal(1)
    expect(written()).not.to.match(/␛\[\?(1049|1000|1002|1003)h/)
  })

  it('accepts input during a reply', async () => {
    const answer = talk.server.answerNext({ text: ['The reply ', 'comes ', 'slowly.'], held: true })
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await answer.begun
    answer.release(1)
    await terminal.waitFor('The reply')
    await terminal.type('And then')
    await terminal.waitFor('And then')
    answer.release(1)
    await terminal.waitFor('The reply comes')
    await terminal.type('?')
    answer.release()
    const screen = await waitForTurn(terminal, 'The reply comes slowly.')
    expect(promptOf(screen)).to.equal('And then?')
    expect(talk.server.sends).to.have.length(1)
    await terminal.key('Enter')
    await waitForTurn(terminal, 'You said: And then?')
  })

  it('sends messages that were submitted during a reply, one after the other', async () => {
    const answer = talk.server.answerNext({ text: ['The reply ', 'is over.'], held: true })
    const terminal = await talk.chat()
    await terminal.say('one')
    await answer.begun
    answer.release(1)
    await terminal.waitFor('The reply')
    await terminal.say('two')
    await terminal.say('three')
    await terminal.waitFor(/queued: two\nqueued: three/)
    expect(talk.server.sends).to.have.length(1)
    answer.release()
    await waitForTurn(terminal, 'You said: three')
    const screen = await terminal.waitUntil(hasPrompt, 'the prompt')
    expect(screen).to.match(
      /> one\n[\s\S]*is over\.[\s\S]*> two\n\nYou said: two[\s\S]*> three\n\nYou said: three/,
    )
    expect(talk.server.sends.map(({ message }) => message)).to.deep.equal(['one', 'two', 'three'])
  })

  it('keeps the scrollback, without an alternate screen or mouse events', async () => {
    const shell = await talk.shell()
    await shell.say('seq 1000 1040')
    await shell.waitFor('1040')
    await shell.say('"$NODE" "$CHATCTL" chat')
    await shell.waitUntil(hasPrompt, 'the prompt')
    expect(await shell.ask('#{alternate_on}#{mouse_any_flag}')).to.equal('00')
    await converse(shell, 'Hello')
    await shell.key('C-d')
    await shell.waitFor('Resume with')
    const all = await shell.scrollback()
    for (let number = 1000; number <= 1040; number++) expect(count(all, `\n${number}`)).to.equal(1)
    expect(all).to.contain('You said: Hello')
  })

  it('renders markdown, and shows it unrendered with --plain', async () => {
    const markdown = '# A title\n\nSome **bold** text.\n\n- one\n- two\n\n```js\nconst a = 1\n```\n\nThe end.'
    talk.server.answerNext(markdown)
    talk.server.answerNext(markdown)
    const terminal = await talk.chat()
    const rendered = await converse(terminal, 'Hello', 'The end.')
    expect(rendered).to.match(/Some bold text\./)
    expect(rendered).not.to.contain('```')
    expect(await terminal.styledScreen()).to.match(/␛\[1m(␛\[[\d;]*m)*bold/)
    const plain = await talk.chat(['--plain'])
    const raw = await converse(plain, 'Hello', 'The end.')
    expect(raw).to.contain(markdown)
  })
})
