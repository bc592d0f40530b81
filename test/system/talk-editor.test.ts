import { expect } from 'chai'
import { perTest } from '../support/lifetime.ts'
import { converse, hasPrompt, promptOf, TalkSession, waitForTurn } from './talk-session.ts'
import type { Tmux } from './tmux.ts'

describe('the editor of a session', () => {
  const talk = perTest(
    () => TalkSession.begin(),
    (opened) => opened.end(),
  )
  let terminal: Tmux
  beforeEach(async () => {
    terminal = await talk.chat()
  })

  const shows = (text: string) =>
    terminal.waitUntil((screen) => promptOf(screen) === text, `the prompt to be ${JSON.stringify(text)}`)
  /** Submits, and gives back what the service got. */
  const submitted = async () => {
    const before = talk.server.sends.length
    await terminal.key('Enter')
    await terminal.waitUntil((screen) => talk.server.sends.length > before && hasPrompt(screen), 'the answer')
    return talk.server.sends.at(-1)?.message
  }

  const shiftEnter = '\u001b[13;2u'
  const newlines: [string, () => Promise<void>][] = [
    ['Ctrl-J', () => terminal.key('C-j')],
    ['Alt-Enter', () => terminal.key('M-Enter')],
    ['Shift-Enter, where it is reported', () => terminal.type(shiftEnter)],
    ['a backslash and Enter', () => terminal.key('\\', 'Enter')],
  ]
  for (const [name, press] of newlines) {
    it(`begins a new line by ${name}`, async () => {
      await terminal.type('one')
      await press()
      await terminal.type('two')
      await shows('one\ntwo')
      expect(talk.server.sends).to.deep.equal([])
      expect(await submitted()).to.equal('one\ntwo')
    })
  }

  const edits: [string, (string | { type: string })[], string][] = [
    ['Ctrl-A goes to the beginning', [{ type: 'world' }, 'C-a', { type: 'hello ' }], 'hello world'],
    ['Home and End go to the ends', [{ type: 'b' }, 'Home', { type: 'a' }, 'End', { type: 'c' }], 'abc'],
    ['Ctrl-E goes to the end', [{ type: 'b' }, 'C-a', 'C-e', { type: 'c' }], 'bc'],
    [
      'Ctrl-B and Ctrl-F move by a character',
      [{ type: 'ac' }, 'C-b', { type: 'b' }, 'C-f', { type: 'd' }],
      'abcd',
    ],
    [
      'Left and Right move by a character',
      [{ type: 'ac' }, 'Left', { type: 'b' }, 'Right', { type: 'd' }],
      'abcd',
    ],
    ['Backspace deletes a whole emoji', [{ type: 'a👨‍👩‍👧‍👦' }, 'BSpace', { type: 'b' }], 'ab'],
    ['Delete deletes forward', [{ type: 'axb' }, 'C-a', 'Right', 'DC'], 'ab'],
    ['Ctrl-D on text deletes forward and does not leave', [{ type: 'axb' }, 'C-a', 'Right', 'C-d'], 'ab'],
    ['Ctrl-K deletes to the end', [{ type: 'keep this' }, 'Home', 'Right', 'Right', 'C-k'], 'ke'],
    ['Ctrl-U deletes to the beginning', [{ type: 'not this' }, 'C-u', { type: 'this' }], 'this'],
    ['Ctrl-W deletes a word', [{ type: 'one two three' }, 'C-w'], 'one two'],
    ['Alt-Backspace deletes a word', [{ type: 'one two three' }, 'M-BSpace'], 'one two'],
    ['Ctrl-Y puts back what was deleted', [{ type: 'one two' }, 'C-w', 'C-a', 'C-y'], 'twoone'],
    ['Ctrl-T swaps two characters', [{ type: 'ba' }, 'C-t'], 'ab'],
    [
      'Alt-B and Alt-F move by a word',
      [{ type: 'one two' }, 'M-b', { type: 'x' }, 'M-f', { type: 'y' }],
      'one xtwoy',
    ],
    ['Alt-D deletes the next word', [{ type: 'one two' }, 'C-a', 'M-d'], ' two'],
    [
      'Ctrl-Left and Ctrl-Right move by a word',
      [{ type: 'one two' }, 'C-Left', { type: 'x' }, 'C-Right', { type: 'y' }],
      'one xtwoy',
    ],
    [
      'Up and Down move between lines',
      [{ type: 'one' }, 'C-j', { type: 'two' }, 'Up', { type: '1' }, 'Down', { type: '2' }],
      'one1\ntwo2',
    ],
    [
      'keys that mean nothing type nothing',
      [{ type: 'a' }, 'F5', 'S-F7', 'PPage', 'C-Up', { type: 'b' }],
      'ab',
    ],
  ]
  for (const [name, keys, text] of edits) {
    it(name, async () => {
      for (const key of keys) await (typeof key === 'string' ? terminal.key(key) : terminal.type(key.type))
      await terminal.waitUntil((screen) => promptOf(screen).trim() === text.trim(), `"${text}" in the prompt`)
      expect((await submitted())?.trimEnd()).to.equal(text)
    })
  }

  it('does not submit an empty or blank text', async () => {
    await terminal.key('Enter')
    await terminal.say('   ')
    await terminal.settle()
    expect(talk.server.sends).to.deep.equal([])
  })

  it('recalls whole entries, also those of an earlier session, and keeps the draft', async () => {
    await terminal.type('first')
    await terminal.key('C-j')
    await terminal.type('entry')
    await terminal.key('Enter')
    await waitForTurn(terminal, 'entry')
    await converse(terminal, 'second entry')
    await terminal.key('C-d')
    await terminal.exitCode()
    terminal = await talk.chat()
    await converse(terminal, 'third entry')
    await terminal.type('a draft')
    await terminal.key('Up')
    await shows('third entry')
    await terminal.key('Up')
    await shows('second entry')
    await terminal.key('Up')
    await shows('first\nentry')
    await terminal.key('Down', 'Down', 'Down')
    await shows('a draft')
    await terminal.key('C-p', 'C-p', 'C-p')
    await shows('first\nentry')
    expect(await submitted()).to.equal('first\nentry')
  })

  it('searches entries backwards by Ctrl-R', async () => {
    await converse(terminal, 'the old apple tree')
    await converse(terminal, 'an apple pie')
    await converse(terminal, 'a pear')
    await terminal.key('C-r')
    await terminal.type('apple')
    await terminal.waitFor(/search: apple/)
    await terminal.waitUntil((screen) => screen.split('\n').slice(-3).join('\n').includes('an apple pie'))
    await terminal.key('C-r')
    await terminal.waitUntil((screen) =>
      screen.split('\n').slice(-3).join('\n').includes('the old apple tree'),
    )
    const before = talk.server.sends.length
    await terminal.key('Enter')
    await shows('the old apple tree')
    expect(talk.server.sends.length).to.equal(before)
    await terminal.key('C-u')
    await terminal.type('draft')
    await terminal.key('C-r')
    await terminal.type('pear')
    await terminal.waitFor(/search: pear/)
    await terminal.key('C-c')
    await shows('draft')
  })

  it('completes commands by Tab', async () => {
    await terminal.type('/cont')
    await terminal.key('Tab')
    // /contexts and /continue have that much in common.
    await terminal.waitFor(/contexts +continue/)
    await terminal.type('e')
    await terminal.waitForNo('continue')
    await terminal.key('Tab')
    await terminal.waitUntil((screen) => promptOf(screen).trim() === '/contexts', 'the whole command')
  })

  it('completes models by Tab', async () => {
    await terminal.type('/model mod')
    await terminal.key('Tab')
    await terminal.waitFor(/model-a\s+model-b/)
    await terminal.type('b')
    await terminal.key('Tab')
    await terminal.waitUntil((screen) => promptOf(screen).trim() === '/model model-b', 'the model')
  })

  it('completes sessions and contexts by Tab', async () => {
    await converse(terminal, 'one')
    await terminal.say('/new')
    await terminal.waitFor('A new conversation')
    await terminal.type('/resume ')
    await terminal.key('Tab')
    await terminal.waitFor(/^s\d\S+ +ctx_1$/m)
    await terminal.type('ctx')
    await terminal.key('Tab')
    await shows('/resume ctx_1')
  })

  it('opens $EDITOR by Ctrl-G with the text, and takes what was written', async () => {
    await terminal.key('C-c', 'C-d')
    await terminal.exitCode()
    terminal = await talk.chat([], {
      env: talk.editor('cp "$1" seen.txt; printf "line 1\\nline 2\\n" > "$1"'),
    })
    await terminal.type('a draft')
    await shows('a draft')
    await terminal.key('C-g')
    await shows('line 1\nline 2')
    expect(await submitted()).to.equal('line 1\nline 2')
    const { readFileSync } = await import('node:fs')
    expect(readFileSync(`${talk.sandbox.home}/seen.txt`, 'utf8').trimEnd()).to.equal('a draft')
  })

  it('keeps the text where $EDITOR fails', async () => {
    await terminal.key('C-d')
    await terminal.exitCode()
    terminal = await talk.chat([], { env: talk.editor('exit 1') })
    await terminal.type('a draft')
    await shows('a draft')
    await terminal.key('C-g')
    await terminal.settle(300)
    await shows('a draft')
  })

  it('clears the screen by Ctrl-L and keeps the text', async () => {
    await converse(terminal, 'something')
    await terminal.type('a draft')
    await shows('a draft')
    await terminal.key('C-l')
    const screen = await terminal.waitForNo('something')
    expect(promptOf(screen)).to.equal('a draft')
  })
})
