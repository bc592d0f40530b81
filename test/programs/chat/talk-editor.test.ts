import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { describeSample } from '../../support/take-sample.ts'
import { hasPrompt, promptOf, type Talk, TalkSession } from './talk-session.ts'

describeSample('the editor of a session', 2, () => {
  const talk = perTest(() => TalkSession.begin())
  let terminal: Talk
  beforeEach(async () => {
    terminal = await talk.chat()
  })

  /** Submits the text, and returns the message that the service received. */
  const submitted = async () => {
    const before = talk.sent.length
    await terminal.key('Enter')
    await terminal.waitUntil((screen) => talk.sent.length > before && hasPrompt(screen), 'the reply')
    return talk.sent.at(-1)
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
      await terminal.prompt('one\ntwo')
      const before = talk.sent.length
      expect(await submitted(), name).to.equal('one\ntwo')
      expect(talk.sent.length, name).to.equal(before + 1)
    }
  })

  it('edits with the keys of the terminal', async () => {
    await terminal.type('b cx👨‍👩‍👧‍👦')
    await terminal.key('BSpace', 'BSpace', 'Home')
    await terminal.type('a')
    await terminal.key('End', 'C-Left', 'M-d')
    await terminal.type('d')
    await terminal.key('C-j', 'Up', 'F5', 'S-F7', 'PPage')
    await terminal.prompt('ab d')
    expect((await submitted())?.trimEnd()).to.equal('ab d')
  })

  it('recalls whole entries, also of an earlier session, and keeps the draft', async () => {
    await terminal.type('first')
    await terminal.key('C-j')
    await terminal.say('entry')
    await terminal.turn('entry')
    await terminal.converse('second entry')
    await terminal.leave()
    terminal = await talk.chat()
    await terminal.converse('third entry')
    await terminal.type('a draft')
    for (const entry of ['third entry', 'second entry', 'first\nentry']) {
      await terminal.key('Up')
      await terminal.prompt(entry)
    }
    await terminal.key('Down', 'Down', 'Down')
    await terminal.prompt('a draft')
    await terminal.key('C-p', 'C-p', 'C-p')
    await terminal.prompt('first\nentry')
    expect(await submitted()).to.equal('first\nentry')
  })

  for (const [what, typed, candidates, further, completed] of [
    ['commands', '/re', /resume +retry +reasoning/, 't', '/retry'],
    ['models', '/model mod', /model-a\s+model-b/, 'b', '/model model-b'],
  ] as const)
    it(`completes ${what} with Tab`, async () => {
      await terminal.type(typed)
      await terminal.key('Tab')
      await terminal.waitFor(candidates)
      await terminal.type(further)
      await terminal.waitForNo(candidates)
      await terminal.key('Tab')
      await terminal.waitUntil((screen) => promptOf(screen).trim() === completed, completed)
    })

  it('completes sessions and conversations with Tab', async () => {
    await terminal.converse('one')
    await terminal.ask('/new', 'New session')
    await terminal.type('/resume ')
    await terminal.key('Tab')
    await terminal.waitUntil((screen) => /^\/resume s\d\S+$/.test(promptOf(screen).trim()), 'the session')
    await terminal.key('C-u')
    await terminal.type('/resume ctx')
    await terminal.key('Tab')
    await terminal.prompt('/resume ctx_1')
  })

  for (const [title, line, edited] of [
    [
      'opens the text in $EDITOR with Ctrl-G, and reads the result',
      'printf "line 1\\nline 2\\n" > "$1"',
      'line 1\nline 2',
    ],
    ['keeps the text if $EDITOR fails', 'exit 1', 'a draft'],
  ] as const)
    it(title, async () => {
      terminal = await talk.chat([], { env: talk.editor(`cp "$1" seen.txt; ${line}`) })
      await terminal.draft('a draft')
      await terminal.key('C-g')
      await terminal.settle(300)
      await terminal.prompt(edited)
      expect(readFileSync(`${talk.sandbox.home}/seen.txt`, 'utf8').trimEnd()).to.equal('a draft')
      expect(await submitted()).to.equal(edited)
    })

  it('clears the screen with Ctrl-L, and keeps the text', async () => {
    await terminal.converse('something')
    await terminal.draft('a draft')
    await terminal.key('C-l')
    expect(promptOf(await terminal.waitForNo('something'))).to.equal('a draft')
  })
})
