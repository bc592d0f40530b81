import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { describeSample } from '../../support/take-sample.ts'
import type { Tmux } from '../tmux.ts'
import { converse, hasPrompt, promptOf, TalkSession, waitForTurn } from './talk-session.ts'

describeSample('the editor of a session', 2, () => {
  const talk = perTest(() => TalkSession.begin())
  let terminal: Tmux
  beforeEach(async () => {
    terminal = await talk.chat()
  })

  const shows = (text: string) =>
    terminal.waitUntil((screen) => promptOf(screen) === text, `the prompt to be ${JSON.stringify(text)}`)
  /** Submits the text, and returns the message that the service received. */
  const submitted = async () => {
    const before = talk.server.sends.length
    await terminal.key('Enter')
    await terminal.waitUntil((screen) => talk.server.sends.length > before && hasPrompt(screen), 'the reply')
    return talk.server.sends.at(-1)?.message
  }

  const shiftEnter = '\u001b[13;2u'
  const newlines: [string, () => Promise<void>][] = [
    ['Ctrl-J', () => terminal.key('C-j')],
    ['Alt-Enter', () => terminal.key('M-Enter')],
    ['Shift-Enter, if the terminal reports it', () => terminal.type(shiftEnter)],
    ['a backslash and Enter', () => terminal.key('\\', 'Enter')],
  ]
  it('begins a new line with each key for it', async () => {
    for (const [name, press] of newlines) {
      await terminal.type('one')
      await press()
      await terminal.type('two')
      await shows('one\ntwo')
      const before = talk.server.sends.length
      expect(await submitted(), name).to.equal('one\ntwo')
      expect(talk.server.sends.length, name).to.equal(before + 1)
    }
  })

  it('edits with the keys of the terminal', async () => {
    await terminal.type('b cx👨‍👩‍👧‍👦')
    await terminal.key('BSpace', 'BSpace', 'Home')
    await terminal.type('a')
    await terminal.key('End', 'C-Left', 'M-d')
    await terminal.type('d')
    await terminal.key('C-j', 'Up', 'F5', 'S-F7', 'PPage')
    await shows('ab d')
    expect((await submitted())?.trimEnd()).to.equal('ab d')
  })

  it('recalls whole entries, also of an earlier session, and keeps the draft', async () => {
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

  it('completes commands with Tab', async () => {
    await terminal.type('/re')
    await terminal.key('Tab')
    await terminal.waitFor(/resume +retry +reasoning/)
    await terminal.type('t')
    await terminal.waitForNo('resume')
    await terminal.key('Tab')
    await terminal.waitUntil((screen) => promptOf(screen).trim() === '/retry', 'the whole command')
  })

  it('completes models with Tab', async () => {
    await terminal.type('/model mod')
    await terminal.key('Tab')
    await terminal.waitFor(/model-a\s+model-b/)
    await terminal.type('b')
    await terminal.key('Tab')
    await terminal.waitUntil((screen) => promptOf(screen).trim() === '/model model-b', 'the model')
  })

  it('completes sessions and conversations with Tab', async () => {
    await converse(terminal, 'one')
    await terminal.say('/new')
    await terminal.waitFor('New session')
    await terminal.type('/resume ')
    await terminal.key('Tab')
    await terminal.waitUntil((screen) => /^\/resume s\d\S+$/.test(promptOf(screen).trim()), 'the session')
    await terminal.key('C-u')
    await terminal.type('/resume ctx')
    await terminal.key('Tab')
    await shows('/resume ctx_1')
  })

  it('opens the text in $EDITOR with Ctrl-G, and reads the result', async () => {
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

  it('keeps the text if $EDITOR fails', async () => {
    await terminal.key('C-d')
    await terminal.exitCode()
    terminal = await talk.chat([], { env: talk.editor('exit 1') })
    await terminal.type('a draft')
    await shows('a draft')
    await terminal.key('C-g')
    await terminal.settle(300)
    await shows('a draft')
  })

  it('clears the screen with Ctrl-L, and keeps the text', async () => {
    await converse(terminal, 'something')
    await terminal.type('a draft')
    await shows('a draft')
    await terminal.key('C-l')
    const screen = await terminal.waitForNo('something')
    expect(promptOf(screen)).to.equal('a draft')
  })
})
