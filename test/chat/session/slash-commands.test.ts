import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import stringWidth from 'string-width'
import type { SessionOptions } from '../../../src/chat/session-options.ts'
import { clipboardPrograms } from '../../../src/chat/slash/copy-and-save.ts'
import { Client } from '../../../src/client/client.ts'
import { PromptLibrary } from '../../../src/config/prompts/prompt-library.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { perTest } from '../../support/lifetime.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { type SessionRun, SessionWorld } from './session-run.ts'

type Found = Awaited<ReturnType<SessionOptions['search']>>['results'][number]

describe('a slash command', () => {
  const world = perTest(() => SessionWorld.open())

  const ask = (run: SessionRun, text: string) => run.say(text, new RegExp(`You said: ${text}[\\s\\S]*total`))
  const contexts = () => world.server.sends.map(({ context_id: context }) => context)

  it('/new begins another conversation, and names the previous session', async () => {
    const run = await world.run()
    await ask(run, 'one')
    const { id } = world.transcript()
    await run.say('/new', new RegExp(`New session, [\\s\\S]* Resume the previous one\\s+with: /resume ${id}`))
    await ask(run, 'two')
    expect(contexts()).to.deep.equal([undefined, undefined])
    expect(world.transcript().turns.map(({ user }) => user)).to.deep.equal(['two'])
  })

  it('/clear clears the screen, and keeps the conversation', async () => {
    const run = await world.run()
    await ask(run, 'one')
    await run.say('/clear', /^>$/)
    await ask(run, 'two')
    expect(contexts()).to.deep.equal([undefined, 'ctx_1'])
    expect(await run.leave()).not.to.contain('You said: one')
  })

  it('/search shows what was found, with its session and role', async () => {
    const searched: string[] = []
    const found: Partial<Found> = { session_id: 's1', time: null, role: 'user', snippet: 'The Eiffel tower' }
    const run = await world.run(undefined, {
      search: async (words) => {
        searched.push(words)
        const isFound = words === 'eiffel'
        return { results: isFound ? [found as Found] : [], hasMore: isFound }
      },
    })
    await run.say('/search', 'Missing search text')
    await run.say('/search eiffel', /^s1 {2}user: The Eiffel tower\n… and more$/m)
    await run.say('/search unheard of', 'No matches for "unheard of".')
    expect(searched).to.deep.equal(['eiffel', 'unheard of'])
  })

  it('/editor opens the editor for the next message', async function () {
    if (process.platform === 'win32') this.skip()
    const run = await world.run(undefined, { editorCommand: `printf 'from the editor' >` })
    await run.say('/editor', /^> from the editor$/m)
    await run.say('', /You said: from the editor[\s\S]*total/)
  })

  for (const command of ['/quit', '/exit']) {
    it(`${command} leaves the session`, async () => {
      const run = await world.run()
      await ask(run, 'one')
      await run.say(command, '1 turn: one\nResume with')
    })
  }
})

describe('an idle session', () => {
  const world = perTest(() => SessionWorld.open())

  it('ends with the second Ctrl-C within two seconds, but not with a later one', async () => {
    const clock = new SteppedClock()
    const { terminal, say } = await world.run({ kind: 'new' }, { clock })
    world.server.answerNext({ text: 'A reply.' })
    await say('Hello', /A reply\.[\s\S]*total/)
    expect(world.transcript().turns[0]?.at).to.equal('2026-03-01T12:00:00.000Z')
    terminal.type('\u0003')
    await terminal.waitFor('Ctrl-C again')
    clock.pass(2_000)
    terminal.type('\u0003')
    await say('/help', '/quit')
    expect(await terminal.text()).not.to.contain('Resume with')
    clock.pass(1_999)
    terminal.type('\u0003')
    await terminal.waitFor('1 turn: Hello\nResume with')
  })
})

describe('the model of a session', () => {
  const world = perTest(() => SessionWorld.open())
  const modelRequests = () => world.server.requests.filter(({ path }) => path === '/v1/chat/models').length

  it('is in the banner if it was chosen', async () => {
    const run = await world.run({ kind: 'new' }, { model: 'model-b' })
    expect(await run.terminal.text()).to.include('the test service · model-b · /help')
  })

  it('is named as soon as it is listed, if the first one replies', async () => {
    const run = await world.run({ kind: 'new' }, { firstModelReplies: true })
    await run.terminal.waitFor('Model: model-a')
    await run.say('/model', '* model-a  current')
  })

  it('is not asked for where that would cost quota', async () => {
    const run = await world.run()
    await run.say('hello', 'You said: hello')
    expect(modelRequests()).to.equal(0)
  })

  it('does not keep the session from starting if it cannot be listed', async () => {
    const client = new Client({ baseUrl: 'http://127.0.0.1:9', credential: 'k', retries: 0 })
    const run = await world.run({ kind: 'new' }, { firstModelReplies: true, connect: async () => client })
    await run.say('/info', 'the test service')
    expect(await run.terminal.text()).not.to.include('Model:')
    await client.close()
  })

  it('changes with /model', async () => {
    const run = await world.run()
    await run.say('/model model-b', 'Using model model-b from now on')
    await run.say('hello', 'You said: hello')
    expect(world.server.sends.at(-1)).to.include({ model: 'model-b' })
    await run.say('/model', '* model-b  current')
  })

  it('stays if the service does not list the new one, and near matches are named', async () => {
    const run = await world.run()
    await run.say('/model model-x', 'The service does not list the model "model-x"')
    await run.terminal.waitFor(/Did you mean model-[ab]\?/)
    await run.say('/model MODEL', 'Did you mean model-a?')
    await run.say('/model zzzzzzzz', 'List the models with /model')
    await run.say('hello', 'You said: hello')
    expect(world.server.sends.at(-1)).not.to.have.property('model')
  })

  it('stays for a part of an alias, and the alias is named', async () => {
    const run = await world.run({ kind: 'new' }, { aliases: { quick: 'model-b' } })
    await run.say('/model quic', 'Did you mean quick?')
    await run.say('/model quick', 'Using model model-b from now on')
  })

  it('can be one that the service does not list, with --force', async () => {
    const run = await world.run()
    await run.say('/model model-x --force', 'Using model model-x from now on')
    await run.say('hello', 'You said: hello')
    expect(world.server.sends.at(-1)).to.include({ model: 'model-x' })
    expect(modelRequests()).to.equal(0)
  })

  it('is accepted with a note if the models cannot be listed', async () => {
    const client = new Client({ baseUrl: 'http://127.0.0.1:9', credential: 'k', retries: 0 })
    const run = await world.run({ kind: 'new' }, { connect: async () => client })
    await run.say('/model model-x', 'so model-x was not checked')
    await run.terminal.waitFor('Using model model-x from now on')
    await client.close()
  })
})

describe('/prompt', () => {
  const world = perTest(() => SessionWorld.open())
  let run: SessionRun
  beforeEach(async () => {
    const directories = new Directories({ HOME: world.home, USERPROFILE: world.home })
    const library = new PromptLibrary(directories)
    library.write('translate', 'Translate to {{language}}: {{input}}\n')
    library.write('brief', '---\nmodel: fast\ntemperature: 0.5\nsystem: Answer in {{style}}.\n---\n')
    library.write('bad', '{{')
    run = await world.run(undefined, { directories, aliases: { fast: 'small-1' } })
  })

  it('fills the input with the prompt, which Enter sends', async () => {
    await run.say(
      '/prompt translate language="old French" Good night',
      /^> Translate to old French: Good night/m,
    )
    expect(world.server.sends).to.deep.equal([])
    await run.say('', 'You said: Translate to old French: Good night')
    expect(world.server.sends[0]).to.include({ message: 'Translate to old French: Good night' })
  })

  it('applies the parameters and the model of the prompt, and says so', async () => {
    await run.say('/prompt brief style=prose', /system: Answer in prose\.\s+temperature: 0\.5/)
    await run.terminal.waitFor('Using model small-1 from now on')
    await run.say('Hello', 'You said: Hello')
    expect(world.server.completions.at(-1)).to.deep.include({ model: 'small-1', temperature: 0.5 })
  })

  it('lists the prompts, and shows what is missing, unknown, or invalid', async () => {
    await run.say('/prompt', /^bad\nbrief\ntranslate$/m)
    await run.say('/prompt translate Hi', 'Type: /prompt translate language=VALUE')
    await run.say('/prompt translate languages=x Hi', 'has no variable languages')
    await run.say('/prompt translate language=x', 'needs a message')
    await run.say('/prompt bad', 'bad.md:1:1: {{')
    await run.say('/prompt translated', 'Did you mean translate?')
    await run.say('/prompt unlike', 'List the prompts with: /prompt')
    expect(world.server.sends).to.deep.equal([])
  })

  it('completes names, and then variables', async () => {
    await run.terminal.type('/prompt tr\t')
    await run.terminal.waitFor('> /prompt translate')
    await run.terminal.type('\t')
    await run.terminal.waitFor('> /prompt translate language=')
  })
})

const at = '2026-01-02T03:04:05.000Z'

describe('the tokens of a session', () => {
  const world = perTest(() => SessionWorld.open())
  const footer = / reply .*tokens[\s\S]*ctx_1/

  it('are below each reply and in /info as the service counts them', async () => {
    const run = await world.run()
    world.server.answerNext({ text: 'One.', usage: { prompt_tokens: 1200, completion_tokens: 40 } })
    await run.say('Hello', 'reply 40, conversation 1,240 tokens · first')
    world.server.answerNext({ text: 'Two.', usage: { total_tokens: 1300 } })
    await run.say('More', 'reply ~1, conversation 1,300 tokens · first')
    world.server.answerNext({ text: 'Three.', usage: { prompt_tokens: 1350, completion_tokens: 50 } })
    await run.say('More', 'reply 50, conversation 1,400 tokens · first')
    expect(await run.say('/info', /^transcript\b/m)).to.match(
      /^tokens +reply 50, conversation 1,400 tokens$/m,
    )
    await run.leave()
    const again = await world.resume()
    expect(await again.say('/info', /^transcript\b/m)).to.match(
      /^tokens +reply 50, conversation 1,400 tokens$/m,
    )
  })

  it('are an estimate of the texts without a count, also of the system message', async () => {
    const run = await world.run()
    world.server.answerNext({ text: 'x'.repeat(36) })
    await run.say('y'.repeat(6), 'reply ~9, conversation ~11 tokens')
    world.server.answerNext({ text: '数据库 ok' })
    await run.say('你好', 'reply ~4, conversation ~17 tokens')
    expect(await run.say('/info', /^transcript\b/m)).to.match(
      /^tokens +reply ~4, conversation ~17 tokens \(~: estimated from the text\)$/m,
    )
    await run.say(`/system ${'z'.repeat(40)}`, 'system: z')
    expect(await run.say('/info', /^system +z/m)).to.contain('reply ~4, conversation ~27 tokens')
  })

  it('are an estimate again for a message that the service did not count', async () => {
    const run = await world.run()
    world.server.answerNext({ text: 'One.', usage: { prompt_tokens: 1200, completion_tokens: 40 } })
    await run.say('Hello', 'reply 40, conversation 1,240 tokens')
    world.server.answerNext({ text: 'Two.' })
    await run.say('More', 'reply ~1, conversation ~5 tokens')
  })

  it('are not shown if they are unknown', async () => {
    const run = await world.run()
    expect(await run.say('/info', /^reasoning\b/m)).not.to.match(/^tokens\b/m)
    await run.leave()
    // Only the service has the beginning.
    world.plant([
      { type: 'options', at, mode: 'context', context_id: 'ctx_1' },
      { type: 'conversation', at, messages: [], lacks_beginning: true },
      { type: 'user', turn: 1, at, text: 'one' },
      { type: 'delta', turn: 1, text: 'You said: one' },
      { type: 'end', turn: 1, at, complete: true, verified: true },
    ])
    const other = await world.resume()
    expect(await other.say('/info', /^transcript\b/m)).to.match(/^tokens +reply ~4 tokens \(/m)
  })

  it('are on one line of a narrow terminal, with the other facts whole', async () => {
    const run = await world.run()
    run.terminal.resize(40)
    world.server.answerNext({ text: 'One.', usage: { prompt_tokens: 11, completion_tokens: 22 } })
    const shown = await run.say('Hello', footer)
    expect(shown).to.match(
      /^ {2}model-a ·\n {2}reply 22, conversation 33 tokens ·\n {2}first \d+\.\ds · total \d+\.\ds ·\n {2}conversation ctx_1$/m,
    )
  })
})

describe('a session that begins with options of the command line', () => {
  const world = perTest(() => SessionWorld.open())

  it('sends its first message, and then reads others', async () => {
    world.server.answerNext({ text: 'A log.' })
    const { terminal, say } = await world.run({ kind: 'new' }, { message: 'What is a log?' })
    await terminal.waitFor(/> What is a log\?[\s\S]*A log\.[\s\S]*total/)
    world.server.answerNext({ text: 'No.' })
    await say('Another?', /No\.[\s\S]*total/)
    expect(world.transcript().turns.map(({ user }) => user)).to.deep.equal(['What is a log?', 'Another?'])
  })

  it('sends a first message that looks like a command', async () => {
    world.server.answerNext({ text: 'A path.' })
    const { terminal } = await world.run({ kind: 'new' }, { message: '/etc is what?' })
    await terminal.waitFor(/A path\.[\s\S]*total/)
    expect(world.server.sends[0]).to.include({ message: '/etc is what?' })
  })

  it('requests completions with its system message', async () => {
    world.server.answerNext({ text: 'Brief.' })
    const { terminal } = await world.run({ kind: 'new' }, { message: 'Why is that?', system: 'Be brief' })
    await terminal.waitFor(/Brief\.[\s\S]*total/)
    expect(world.server.completions[0]?.messages).to.deep.equal([
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Why is that?' },
    ])
    expect(world.transcript()).to.include({ system: 'Be brief', mode: 'completions' })
  })

  it('writes neither a transcript nor the recalled input if it is not recorded', async () => {
    world.server.answerNext({ text: 'Gone.' })
    const given = { isRecorded: false, inputHistoryPath: undefined, message: 'A secret thing' }
    const { say, leave } = await world.run({ kind: 'new' }, given)
    await say('/name Secrets', 'not recorded, so it cannot be named')
    await say('/export secrets.md', 'not recorded, so it cannot be')
    await say('/info', /transcript +not recorded/)
    const shown = await leave()
    expect(shown).to.contain('This session is not recorded').and.not.to.contain('Resume with')
    expect(existsSync(world.directory)).to.equal(false)
    expect(existsSync(join(world.home, 'recall.jsonl'))).to.equal(false)
  })

  it('changes no transcript that it resumes without being recorded', async () => {
    world.server.answerNext({ text: 'One.' })
    const first = await world.run({ kind: 'new' }, { message: 'The first one' })
    await first.terminal.waitFor(/One\.[\s\S]*total/)
    await first.leave()
    const before = world.transcript()
    world.server.answerNext({ text: 'Two.' })
    const second = await world.resume({ isRecorded: false, message: 'The second one' })
    await second.terminal.waitFor(/Two\.[\s\S]*total/)
    await second.leave()
    expect(world.transcript()).to.deep.equal(before)
  })
})

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

describe('the clipboard on Windows', () => {
  const [powerShell] = clipboardPrograms({ SystemRoot: 'D:\\Windows' }, 'win32')

  it('is set by PowerShell, which gets the text in base64 because it would decode it otherwise', () => {
    expect(powerShell?.command[0]).to.equal('D:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe')
    expect(powerShell?.encode?.('± ∵')).to.equal(Buffer.from('± ∵').toString('base64'))
  })

  it('is that of the terminal in a session over SSH', () => {
    expect(clipboardPrograms({ SSH_CONNECTION: 'x' }, 'win32')).to.deep.equal([])
  })
})
