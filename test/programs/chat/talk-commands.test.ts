import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { failing } from '../../support/scripted-server.ts'
import { describeSample } from '../../support/take-sample.ts'
import type { Tmux } from '../tmux.ts'
import { converse, hasPrompt, promptOf, TalkSession, waitForTurn } from './talk-session.ts'

describeSample('slash commands of a session', 3, () => {
  const talk = perTest(() => TalkSession.begin())
  let terminal: Tmux
  beforeEach(async () => {
    terminal = await talk.chat([], { rows: 60 })
  })

  /** Runs a slash command, and waits for its output and the prompt. */
  const command = async (line: string, words: string | RegExp) => {
    await terminal.say(line)
    await terminal.waitFor(words)
    return await terminal.waitUntil(hasPrompt, 'the prompt')
  }
  const sessions = async () =>
    (await talk.json('chat', 'sessions')) as { id: string; name?: string; turns: number }[]

  const names =
    'help new resume fork name model system set retry edit continue history search export copy save editor info clear quit'

  it('/help lists every command', async () => {
    const screen = await command('/help', '/quit')
    for (const name of names.split(' ')) expect(screen).to.match(new RegExp(`^ *\\/${name}\\b`, 'm'))
    // Wrapped text is indented to its column.
    const [list = ''] = /^\/help[\s\S]*^\/quit/m.exec(screen) ?? []
    for (const line of list.split('\n')) expect(line).to.match(/^(\/[a-z]+| {40})/)
    expect(talk.server.sends).to.deep.equal([])
  })

  it('can be shortened to an unambiguous prefix, or else an error lists the candidates', async () => {
    await command('/inf', /^service +/m)
    const screen = await command('/e', /\/edit.*\/editor|\/export/)
    expect(screen).to.match(/\/edit\b/)
    // A complete name is not ambiguous: /edit and /editor.
    await command('/edit', 'No message has been sent yet')
    await command('/invalid', 'Unknown command /invalid')
    expect(talk.server.sends).to.deep.equal([])
  })

  for (const word of ['exit', 'quit', '/bye']) {
    it(`${word} is not sent as a message, and a hint says how to leave`, async () => {
      await command(word, 'To leave, type /quit')
      expect(talk.server.sends).to.deep.equal([])
    })
  }

  it('/resume lists the other sessions, and continues the chosen one', async () => {
    await converse(terminal, 'of the first session')
    await command('/new', 'New session')
    await converse(terminal, 'of the second session')
    await terminal.say('/resume')
    await terminal.waitFor(/^> \d\S+ \d\S+ +of the first session +You said: of the first session$/m)
    await terminal.key('Enter')
    await terminal.waitUntil(hasPrompt, 'the prompt')
    await converse(terminal, 'first again')
    expect(talk.server.sends.at(-1)?.context_id).to.equal('ctx_1')
  })

  it('/system switches to completions, and keeps the conversation on this machine', async () => {
    await converse(terminal, 'one')
    await command('/system Answer in rhymes', /this machine stores the/)
    expect(talk.server.requests.filter(({ path }) => path.startsWith('/v1/chat/completions'))).to.deep.equal(
      [],
    )
    await converse(terminal, 'two')
    await converse(terminal, 'three')
    expect(talk.server.sends).to.have.length(1)
    expect(talk.server.completions.at(-1)?.messages).to.deep.equal([
      { role: 'system', content: 'Answer in rhymes' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'You said: one' },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: 'You said: two' },
      { role: 'user', content: 'three' },
    ])
  })

  it('/system applies again when the session is resumed', async () => {
    await command('/system Be brief', /this machine stores the/)
    await converse(terminal, 'one')
    await terminal.key('C-d')
    await terminal.exitCode()
    const [session] = await sessions()
    terminal = await talk.chat(['--resume', session?.id ?? ''])
    await converse(terminal, 'two')
    expect(talk.server.completions.at(-1)?.messages).to.deep.equal([
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'You said: one' },
      { role: 'user', content: 'two' },
    ])
  })

  it('/set sets temperature and max_tokens, and refuses invalid values', async () => {
    await command('/set temperature 0.2', 'temperature: 0.2')
    await command('/set max_tokens=100', 'max_tokens: 100')
    await converse(terminal, 'Hello')
    expect(talk.server.completions.at(-1)).to.include({ temperature: 0.2, max_tokens: 100 })
    await command('/set temperature off', 'temperature: default of the service')
    await converse(terminal, 'Hello again')
    expect(talk.server.completions.at(-1)).not.to.have.property('temperature')
    await command('/set max_tokens many', 'many')
    await command('/set color red', /temperature and max_tokens/)
  })

  it('/retry sends the last question again, without its reply', async () => {
    await converse(terminal, 'one')
    await converse(terminal, 'two')
    talk.server.answerNext('A better answer.')
    await terminal.say('/retry')
    await waitForTurn(terminal, 'A better answer.')
    const screen = await terminal.waitUntil(hasPrompt, 'the prompt')
    expect(screen).to.contain('this machine stores the conversation')
    const said = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'You said: one' },
      { role: 'user', content: 'two' },
    ]
    expect(talk.server.completions.at(-1)?.messages).to.deep.equal(said)
    await converse(terminal, 'three')
    expect(talk.server.completions.at(-1)?.messages).to.deep.equal([
      ...said,
      { role: 'assistant', content: 'A better answer.' },
      { role: 'user', content: 'three' },
    ])
  })

  it('/edit puts the last question into the input line, and replaces it when it is sent', async () => {
    await converse(terminal, 'one')
    await converse(terminal, 'tow')
    await terminal.say('/edit')
    await terminal.waitUntil((screen) => promptOf(screen) === 'tow', 'the question')
    await terminal.key('C-t')
    await terminal.key('BSpace', 'BSpace', 'BSpace')
    await terminal.type('two')
    await terminal.key('Enter')
    await waitForTurn(terminal, 'You said: two')
    expect(talk.server.completions.at(-1)?.messages).to.deep.equal([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'You said: one' },
      { role: 'user', content: 'two' },
    ])
  })

  it('/edit changes nothing after Ctrl-C', async () => {
    await converse(terminal, 'one')
    await terminal.say('/edit')
    await terminal.waitUntil((screen) => promptOf(screen) === 'one', 'the question')
    await terminal.key('C-c')
    await terminal.waitUntil(hasPrompt, 'an empty prompt')
    await converse(terminal, 'two')
    expect(talk.server.completions).to.deep.equal([])
    expect(talk.server.sends.at(-1)).to.include({ message: 'two', context_id: 'ctx_1' })
  })

  it('/history shows the history of the service', async () => {
    await converse(terminal, 'one')
    talk.server.say('ctx_1', 'user', 'said elsewhere')
    await command('/clear', /^>$/)
    const screen = await command('/history', 'said elsewhere')
    expect(screen).to.contain('You said: one')
    await command('/clear', /^>$/)
    expect(await command('/history 1', 'said elsewhere')).not.to.contain('You said: one')
    await command('/history invalid', /Invalid number/)
  })

  it('/search finds text in every session', async () => {
    await converse(terminal, 'The Eiffel tower')
    await command('/new', 'New session')
    await converse(terminal, 'Something else')
    await command('/clear', /^>$/)
    const screen = await command('/search eiffel', /Eiffel tower/)
    expect(screen).not.to.contain('Something else')
    await command('/search unheard of', /No matches for/)
  })

  it('/export writes the session to a new file in four formats', async () => {
    await command('/export early.md', /no messages yet/)
    await converse(terminal, 'Hello')
    const read = (name: string) => readFileSync(join(talk.sandbox.home, name), 'utf8')
    for (const form of ['md', 'txt', 'json', 'jsonl']) {
      await command(`/export talk.${form}`, `talk.${form}`)
      expect(read(`talk.${form}`)).to.contain('You said: Hello')
    }
    expect(JSON.parse(read('talk.json')).turns).to.have.length(1)
    expect(statSync(join(talk.sandbox.home, 'talk.md')).mode & 0o777).to.equal(0o600)
    const before = read('talk.md')
    await command('/export talk.md', /already exists/)
    expect(read('talk.md')).to.equal(before)
  })

  it('/copy copies the last reply to the clipboard of the terminal', async () => {
    await command('/copy', 'There is no reply yet')
    await terminal.allowClipboard()
    await converse(terminal, 'Zwölf 漢字')
    await command('/copy', 'OSC 52')
    expect(await terminal.clipboard()).to.equal('You said: Zwölf 漢字')
  })

  it('/save writes the last reply to a new file', async () => {
    await command('/save answer.md', 'There is no reply yet')
    await converse(terminal, 'one')
    await converse(terminal, 'two')
    await command('/save answer.md', /answer\.md/)
    expect(readFileSync(join(talk.sandbox.home, 'answer.md'), 'utf8')).to.equal('You said: two\n')
    await command('/save answer.md', /already exists/)
    await command('/save no/such/directory/x.md', /Cannot write/)
    await command('/save', /Missing file name/)
  })

  it('/info shows the current settings', async () => {
    await converse(terminal, 'Hello')
    await command('/set temperature 0.5', 'temperature: 0.5')
    const screen = await command('/info', /^transcript +/m)
    expect(screen).to.contain(talk.server.url)
    expect(screen).to.match(/^conversation ID +ctx_1$/m)
    expect(screen).to.match(/^model +model-a$/m)
    expect(screen).to.match(/^temperature +0\.5$/m)
    expect(screen).not.to.contain('key-of-a-test')
  })

  it('leave the session unchanged if the service refuses a request', async () => {
    await converse(terminal, 'one')
    talk.server.faults.set('/api/chat/history', [failing(403, 'forbidden', 'Not for you')])
    await command('/history', 'Not for you')
    await converse(terminal, 'two')
  })
})
