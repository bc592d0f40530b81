import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { failing } from '../../support/scripted-server.ts'
import { describeSample } from '../../support/take-sample.ts'
import { type Talk, TalkSession } from './talk-session.ts'

const isCleared = /^>$/

describeSample('slash commands of a session', 3, () => {
  const talk = perTest(() => TalkSession.begin())
  let terminal: Talk
  beforeEach(async () => {
    terminal = await talk.chat([], { rows: 60 })
  })

  const read = (name: string) => readFileSync(join(talk.sandbox.home, name), 'utf8')
  const names =
    'help new resume fork name model system set retry edit continue history search export copy save editor info clear quit'

  it('/help lists every command', async () => {
    const screen = await terminal.command('/help', '/quit')
    for (const name of names.split(' ')) expect(screen).to.match(new RegExp(`^ *\\/${name}\\b`, 'm'))
    // Wrapped text is indented to its column.
    const [list = ''] = /^\/help[\s\S]*^\/quit/m.exec(screen) ?? []
    for (const line of list.split('\n')) expect(line).to.match(/^(\/[a-z]+| {40})/)
    expect(talk.sent).to.deep.equal([])
  })

  it('can be shortened to an unambiguous prefix, or else an error lists the candidates', async () => {
    await terminal.command('/inf', /^service +/m)
    expect(await terminal.command('/e', /\/edit.*\/editor|\/export/)).to.match(/\/edit\b/)
    // A complete name is not ambiguous: /edit and /editor.
    await terminal.command('/edit', 'No message has been sent yet')
    await terminal.command('/invalid', 'Unknown command /invalid')
    expect(talk.sent).to.deep.equal([])
  })

  for (const word of ['exit', 'quit', '/bye']) {
    it(`${word} is not sent as a message, and a hint says how to leave`, async () => {
      await terminal.command(word, 'To leave, type /quit')
      expect(talk.sent).to.deep.equal([])
    })
  }

  it('/resume lists the other sessions, and continues the chosen one', async () => {
    await terminal.converse('of the first session')
    await terminal.command('/new', 'New session')
    await terminal.converse('of the second session')
    await terminal.ask('/resume', /^> \d\S+ \d\S+ +of the first session +You said: of the first session$/m)
    await terminal.key('Enter')
    await terminal.prompt()
    await terminal.converse('first again')
    expect(talk.server.sends.at(-1)?.context_id).to.equal('ctx_1')
  })

  it('/system switches to completions, and keeps the conversation on this machine', async () => {
    await terminal.converse('one')
    await terminal.command('/system Answer in rhymes', /this machine stores the/)
    expect(talk.server.completions).to.deep.equal([])
    await terminal.converse('two')
    await terminal.converse('three')
    expect(talk.sent).to.have.length(1)
    const said = ['user: one', 'assistant: You said: one', 'user: two', 'assistant: You said: two']
    expect(talk.completed).to.deep.equal(['system: Answer in rhymes', ...said, 'user: three'])
  })

  it('/system applies again when the session is resumed', async () => {
    await terminal.command('/system Be brief', /this machine stores the/)
    await terminal.converse('one')
    terminal = await talk.chat(['--resume', await terminal.leave()])
    await terminal.converse('two')
    const said = ['system: Be brief', 'user: one', 'assistant: You said: one', 'user: two']
    expect(talk.completed).to.deep.equal(said)
  })

  it('/set sets temperature and max_tokens, and refuses invalid values', async () => {
    await terminal.command('/set temperature 0.2', 'temperature: 0.2')
    await terminal.command('/set max_tokens=100', 'max_tokens: 100')
    await terminal.converse('Hello')
    expect(talk.server.completions.at(-1)).to.include({ temperature: 0.2, max_tokens: 100 })
    await terminal.command('/set temperature off', 'temperature: default of the service')
    await terminal.converse('Hello again')
    expect(talk.server.completions.at(-1)).not.to.have.property('temperature')
    await terminal.command('/set max_tokens many', 'many')
    await terminal.command('/set color red', /temperature and max_tokens/)
  })

  it('/retry sends the last question again, without its reply', async () => {
    await terminal.converse('one')
    await terminal.converse('two')
    talk.server.answerNext('A better answer.')
    await terminal.say('/retry')
    await terminal.turn('A better answer.')
    expect(await terminal.prompt()).to.contain('this machine stores the conversation')
    const said = ['user: one', 'assistant: You said: one', 'user: two']
    expect(talk.completed).to.deep.equal(said)
    await terminal.converse('three')
    expect(talk.completed).to.deep.equal([...said, 'assistant: A better answer.', 'user: three'])
  })

  it('/edit puts the last question into the input line, and replaces it when it is sent', async () => {
    await terminal.converse('one')
    await terminal.converse('tow')
    await terminal.say('/edit')
    await terminal.prompt('tow')
    await terminal.key('C-t')
    await terminal.key('BSpace', 'BSpace', 'BSpace')
    await terminal.say('two')
    await terminal.turn('You said: two')
    expect(talk.completed).to.deep.equal(['user: one', 'assistant: You said: one', 'user: two'])
  })

  it('/edit changes nothing after Ctrl-C', async () => {
    await terminal.converse('one')
    await terminal.say('/edit')
    await terminal.prompt('one')
    await terminal.key('C-c')
    await terminal.prompt()
    await terminal.converse('two')
    expect(talk.server.completions).to.deep.equal([])
    expect(talk.server.sends.at(-1)).to.include({ message: 'two', context_id: 'ctx_1' })
  })

  it('/history shows the history of the service', async () => {
    await terminal.converse('one')
    talk.server.say('ctx_1', 'user', 'said elsewhere')
    await terminal.command('/clear', isCleared)
    expect(await terminal.command('/history', 'said elsewhere')).to.contain('You said: one')
    await terminal.command('/clear', isCleared)
    expect(await terminal.command('/history 1', 'said elsewhere')).not.to.contain('You said: one')
    await terminal.command('/history invalid', /Invalid number/)
  })

  it('/search finds text in every session', async () => {
    await terminal.converse('The Eiffel tower')
    await terminal.command('/new', 'New session')
    await terminal.converse('Something else')
    await terminal.command('/clear', isCleared)
    expect(await terminal.command('/search eiffel', /Eiffel tower/)).not.to.contain('Something else')
    await terminal.command('/search unheard of', /No matches for/)
  })

  it('/export writes the session to a new file in four formats', async () => {
    await terminal.command('/export early.md', /no messages yet/)
    await terminal.converse('Hello')
    for (const form of ['md', 'txt', 'json', 'jsonl']) {
      await terminal.command(`/export talk.${form}`, `talk.${form}`)
      expect(read(`talk.${form}`)).to.contain('You said: Hello')
    }
    expect(JSON.parse(read('talk.json')).turns).to.have.length(1)
    expect(statSync(join(talk.sandbox.home, 'talk.md')).mode & 0o777).to.equal(0o600)
    const before = read('talk.md')
    await terminal.command('/export talk.md', /already exists/)
    expect(read('talk.md')).to.equal(before)
  })

  it('/copy copies the last reply to the clipboard of the terminal', async () => {
    await terminal.command('/copy', 'There is no reply yet')
    await terminal.allowClipboard()
    await terminal.converse('Zwölf 漢字')
    await terminal.command('/copy', 'OSC 52')
    expect(await terminal.clipboard()).to.equal('You said: Zwölf 漢字')
  })

  it('/save writes the last reply to a new file', async () => {
    await terminal.command('/save answer.md', 'There is no reply yet')
    await terminal.converse('one')
    await terminal.converse('two')
    await terminal.command('/save answer.md', /answer\.md/)
    expect(read('answer.md')).to.equal('You said: two\n')
    await terminal.command('/save answer.md', /already exists/)
    await terminal.command('/save no/such/directory/x.md', /Cannot write/)
    await terminal.command('/save', /Missing file name/)
  })

  it('/info shows the current settings', async () => {
    await terminal.converse('Hello')
    await terminal.command('/set temperature 0.5', 'temperature: 0.5')
    const screen = await terminal.command('/info', /^transcript +/m)
    expect(screen).to.contain(talk.server.url).and.not.contain('key-of-a-test')
    for (const line of [/^conversation ID +ctx_1$/m, /^model +model-a$/m, /^temperature +0\.5$/m])
      expect(screen).to.match(line)
  })

  it('leave the session unchanged if the service refuses a request', async () => {
    await terminal.converse('one')
    talk.server.faults.set('/api/chat/history', [failing(403, 'forbidden', 'Not for you')])
    await terminal.command('/history', 'Not for you')
    await terminal.converse('two')
  })
})
