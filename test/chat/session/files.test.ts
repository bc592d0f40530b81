import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { joinFiles } from '../../../src/contract/resources/file-block.ts'
import { plainText } from '../../../src/terminal/editor/pasted-text.ts'
import { perTest } from '../../support/lifetime.ts'
import { failing, json } from '../../support/scripted-server.ts'
import { type SessionRun, SessionWorld } from './session-run.ts'

describe('a file in a session', () => {
  const world = perTest(() => SessionWorld.open())
  let run: SessionRun

  const a = { name: 'a.ts', content: 'let a\n' }
  const notes = { name: 'my notes.txt', content: 'x' }
  beforeEach(async () => {
    for (const { name, content } of [a, notes]) writeFileSync(join(world.home, name), content)
    mkdirSync(join(world.home, 'src dir'))
    writeFileSync(join(world.home, 'src dir', 'b.md'), '# B\n')
    run = await world.run()
  })

  const prompts = () => world.transcript().turns.map(({ user }) => user)
  const says = (text: string, ...files: (typeof a)[]) => joinFiles({ files, text })
  const replied = (text: string) => run.terminal.waitFor(`You said: ${text}`)

  it('is sent with the next message only, as the transcript records it', async () => {
    await run.say('/file a.ts', 'The next message is sent with a.ts (6 bytes)')
    await run.say('/file "my notes.txt"', 'sent with my notes.txt (1 byte)')
    await run.say('/file', 'a.ts (6 bytes), my notes.txt (1 byte)')
    await run.say('Compare', '[with a.ts (6 bytes), my notes.txt (1 byte)]')
    await run.terminal.waitFor(/ctx/)
    await run.say('Thanks', 'You said: Thanks')
    await run.leave()
    expect(prompts()).to.deep.equal([says('Compare', a, notes), 'Thanks'])
    expect(world.server.sends.map(({ message }) => message)).to.deep.equal(prompts())
  })

  it('is not sent after /file off', async () => {
    await run.say('/file a.ts', 'sent with a.ts')
    await run.say('/file off', 'sent without files')
    await run.say('/file', 'No files are attached')
    await run.say('Hello', 'You said: Hello')
    await run.leave()
    expect(prompts()).to.deep.equal(['Hello'])
  })

  it('is refused by /file with an error that names it', async () => {
    writeFileSync(join(world.home, 'image'), 'GIF\0')
    await run.say('/file none', 'Cannot read none: no such file')
    await run.say('/file image', 'image is not text')
    await run.say('/file src dir', 'Cannot read src dir: it is a directory')
    await run.say('/file', 'No files are attached')
  })

  const b = { name: 'src dir/b.md', content: '# B\n' }
  for (const [title, text, files] of [
    ['by its path', 'Read @a.ts', [a]],
    ['before punctuation', 'Is (@a.ts) fine, or @./a.ts?', [a, { ...a, name: './a.ts' }]],
    ['in quotes if it has a space', '@"my notes.txt" and @"src dir/b.md"', [notes, b]],
    ['once if it is mentioned twice', '@a.ts @a.ts', [a]],
  ] as const) {
    it(`is sent if a message mentions it ${title}`, async () => {
      await run.say(text, '[with ')
      await run.terminal.waitFor(/ctx/)
      await run.leave()
      expect(prompts()).to.deep.equal([joinFiles({ files, text })])
    })
  }

  for (const [title, text, sent] of [
    ['no file', 'Ask @ada, or @nobody.ts', undefined],
    ['an address', 'Write to me@a.ts', undefined],
    ['a directory', 'List @src', undefined],
    ['a file after a backslash', 'What is \\@a.ts', undefined],
    ['a file in a message that begins with //', '//say @a.ts', '/say @a.ts'],
  ] as const) {
    it(`is not sent if a message mentions ${title}`, async () => {
      await run.say(text, /ctx/)
      await run.leave()
      expect(prompts()).to.deep.equal([sent ?? text])
    })
  }

  it('is named if it does not exist, and the message is sent as text', async () => {
    const text = 'Ask @ada about @work/missing, @nobody.ts, and @"no such file".'
    const shown = await run.say(text, /ctx/)
    for (const name of ['work/missing', 'nobody.ts', 'no such file']) {
      expect(shown).to.contain(`[Cannot find the file ${name}, so its name is sent as text]`)
    }
    expect(shown).not.to.contain('file ada')
    await run.say('//Not @work/other', /You said: \/Not/)
    expect(await run.leave()).not.to.contain('file work/other')
    expect(prompts()).to.deep.equal([text, '/Not @work/other'])
  })

  it('is not read if it is a device', async function () {
    if (process.platform === 'win32') this.skip()
    await run.say('/file /dev/zero', 'it is a device, not a regular file')
    await run.say('Read @/dev/zero', 'You said: Read @/dev/zero')
    await run.leave()
    expect(prompts()).to.deep.equal(['Read @/dev/zero'])
  })

  it('returns the message to the input line if it cannot be sent', async () => {
    writeFileSync(join(world.home, 'image'), 'GIF\0')
    await run.say('/file a.ts', 'sent with a.ts')
    await run.say('Describe @image', 'Error: image is not text')
    expect(await run.terminal.text()).to.contain('To send @path as text, type \\@path.')
    expect(world.server.sends).to.deep.equal([])
    rmSync(join(world.home, 'image'))
    run.terminal.type('\r')
    await run.terminal.waitFor(/ctx/)
    await run.leave()
    expect(prompts()).to.deep.equal([says('Describe @image', a)])
  })

  it('is sent again with a message that failed', async () => {
    world.server.failNext(json(503, { error: { code: 'busy', message: 'busy' } }))
    await run.say('/file "my notes.txt"', 'sent with my notes.txt')
    await run.say('Compare @a.ts', 'Press Enter to send it again')
    run.terminal.type('\r')
    await run.terminal.waitFor(/ctx/)
    await run.leave()
    expect(prompts().at(-1)).to.equal(says('Compare @a.ts', notes, a))
  })

  it('is sent with the text that replaces a message that failed, except a file that only that mentioned', async () => {
    world.server.failNext(json(503, { error: { code: 'busy', message: 'busy' } }))
    await run.say('/file "my notes.txt"', 'sent with my notes.txt')
    await run.say('Compare @a.ts', 'Press Enter to send it again')
    run.terminal.type('Shorten\r')
    await run.terminal.waitFor(/ctx/)
    await run.leave()
    expect(prompts().at(-1)).to.equal(says('Shorten', notes))
  })

  it('is sent once by /retry', async () => {
    world.server.failNext(json(503, { error: { code: 'busy', message: 'busy' } }))
    await run.say('/file a.ts', 'sent with a.ts')
    await run.say('Explain', 'Press Enter to send it again')
    await run.say('/retry', /ctx/)
    await run.say('Thanks', 'You said: Thanks')
    await run.leave()
    expect(prompts().slice(-2)).to.deep.equal([says('Explain', a), 'Thanks'])
  })

  it('is kept by /edit, unless the edit is canceled', async () => {
    await run.say('/file a.ts', 'sent with a.ts')
    await run.say('Explain', /ctx/)
    await run.say('/edit', 'Press Enter to replace the last message')
    run.terminal.type(' it\r')
    await replied('File')
    await run.terminal.waitFor('> Explain it')
    await run.terminal.waitFor(/ctx_?2|new conversation[\s\S]*ctx/)
    await run.say('/edit', /Press Enter[\s\S]*Press Enter/)
    run.terminal.type('\u0003')
    await run.say('Thanks', 'You said: Thanks')
    await run.leave()
    expect(prompts().slice(-2)).to.deep.equal([says('Explain it', a), 'Thanks'])
  })

  it('is shown by its name in a resumed session and in lists', async () => {
    await run.say('/file a.ts', 'sent with a.ts')
    await run.say('Explain', /ctx/)
    await run.leave()
    const resumed = await world.resume()
    const shown = await resumed.terminal.waitFor('> Explain\n[with a.ts (6 bytes)]')
    expect(shown).not.to.contain('```')
    await resumed.say('/info', /^name +Explain$/m)
  })

  it('is completed by Tab after @ and after /file', async () => {
    run.terminal.type('See @a.\t')
    await run.terminal.waitFor('> See @a.ts')
    run.terminal.type(' and @my\t')
    await run.terminal.waitFor('> See @a.ts and @"my notes.txt"')
    run.terminal.type(' and @sr\t')
    await run.terminal.waitFor('@"src dir/')
    run.terminal.type('b\t')
    await run.terminal.waitFor('> See @a.ts and @"my notes.txt" and @"src dir/b.md"')
    run.terminal.type('\u0015/file my\t')
    await run.terminal.waitFor('> /file my notes.txt')
  })
})

const paste = (text: string): string => `\u001b[200~${text}\u001b[201~`
const a = { name: 'a.ts', content: 'let a\n' }
const log = `log (@~/.ssh/id_demo) @a.ts\n${'more\n'.repeat(12)}`

describe('pasted text in a session', () => {
  const world = perTest(() => SessionWorld.open())
  let run: SessionRun
  beforeEach(async () => {
    mkdirSync(join(world.home, '.ssh'))
    writeFileSync(join(world.home, '.ssh', 'id_demo'), 'the key\n')
    writeFileSync(join(world.home, 'my notes.txt'), 'x')
    writeFileSync(join(world.home, a.name), a.content)
    run = await world.run(undefined, { editorCommand: `printf '. And more' >>` })
  })

  /** Types or pastes each part, and returns the screen and the sent messages. */
  const send = async (...parts: string[]) => {
    for (const part of parts) run.terminal.type(part)
    run.terminal.type('\r')
    await run.terminal.waitFor(/total/)
    const shown = await run.leave()
    return { shown: shown.replaceAll(/\s+/g, ' '), sent: world.server.sends.map(({ message }) => message) }
  }
  const hint = 'which was not typed. To send the file, type: /file '

  for (const [title, parts, text] of [
    ['a path', [paste('See (@a.ts)')], 'See (@a.ts)'],
    ['a path in a collapsed paste', ['Why? ', paste(log)], `Why? ${log}`],
    ['a path of which a part was typed', ['@', paste('a'), '.ts'], '@a.ts'],
    ['a path after a typed @', ['See @', paste('a.ts')], 'See @a.ts'],
    ['a quoted path', ['@"my', paste(' notes.txt"')], '@"my notes.txt"'],
    ['a path in which Tab completes nothing', [paste('@a.t'), '\t', 's'], '@a.ts'],
    ['a path that was killed and yanked', [paste('@a.ts'), '\u0015Look \u0019'], 'Look @a.ts'],
    ['a path with a character deleted', [paste('@a.tsx'), '\u007f'], '@a.ts'],
    ['paths that the editor kept', [paste('@a.ts (@a.ts)'), '\u0007'], '@a.ts (@a.ts). And more'],
    ['a recalled path', [paste('@a.ts'), '\u0003', '\u001b[A'], '@a.ts'],
    ['a path that Ctrl-R finds', [paste('@a.ts ok'), '\u0003', '\u0012', 's o', '\u001b[F'], '@a.ts ok'],
  ] as const) {
    it(`sends ${title} as text, and says how to attach the file`, async () => {
      for (const part of parts) {
        run.terminal.type(part)
        if (part === '\u0007') await run.terminal.waitFor(/And more$/m)
      }
      const { shown, sent } = await send()
      expect(sent).to.deep.equal([text])
      expect(shown).to.contain(hint).and.not.to.contain('[with')
    })
  }

  for (const [title, parts, text] of [
    ['beside it', [paste('Look ('), ' @a.ts ', paste('@x/y)')], 'Look ( @a.ts @x/y)'],
    ['that is recalled with it', ['@a.ts ', paste('@a'), '\u0003', '\u001b[A'], '@a.ts @a'],
    ['after /file, of which the path is pasted', ['/file ', paste('a.ts'), '\rHi'], 'Hi'],
  ] as const) {
    it(`leaves a typed path ${title} a path`, async () => {
      const { shown, sent } = await send(...parts)
      expect(sent).to.deep.equal([joinFiles({ files: [a], text })])
      expect(shown).not.to.contain(hint)
    })
  }

  for (const [title, parts, text] of [
    ['by itself', [paste('/system off')], '/system off'],
    ['in a collapsed paste', [paste(`/system ${log}`)], `/system ${log}`],
    ['after a typed slash', ['/', paste('system off')], '/system off'],
    ['if what is before it is deleted', [paste('x/system off'), '\u0001\u001b[3~'], '/system off'],
    ['if it is recalled', [paste('/system off'), '\u0003', '\u001b[A'], '/system off'],
  ] as const) {
    it(`runs no command ${title}, and says so`, async () => {
      const { shown, sent } = await send(...parts)
      expect(sent).to.deep.equal([text])
      expect(shown).to.contain('[Sent as text: only a typed command runs]')
    })
  }

  it('may be the argument of a typed command, and follow a typed //', async () => {
    run.terminal.type(`/system ${paste('Answer in /prose @home')}\r`)
    await run.terminal.waitFor('system: Answer in /prose @home')
    run.terminal.type(`//${paste('/etc @a.ts')}\r`)
    await run.terminal.waitFor(/total/)
    expect(await run.leave()).not.to.contain(hint)
    expect(world.server.completions.at(-1)?.messages?.at(-1)?.content).to.equal('//etc @a.ts')
  })

  it('stays text in a message that failed, and in one that is edited, also in a resumed session', async () => {
    world.server.failNext(failing(503, 'busy', 'busy'))
    run.terminal.type(`${paste('/quit (@a.ts)')}\r`)
    await run.terminal.waitFor('Press Enter to send it again')
    run.terminal.type('\r')
    await run.terminal.waitFor(/total/)
    for (const more of [' now', ' later']) {
      if (more === ' later') {
        await run.leave()
        run = await world.resume()
      }
      await run.say('/edit', /Press Enter to replace/)
      run.terminal.type(`${more}\r`)
      await run.terminal.waitFor(new RegExp(`You said: .*${more}[\\s\\S]*total`))
    }
    const text = '/quit (@a.ts)'
    const sent = world.server.sends.map(({ message }) => message)
    expect(sent).to.deep.equal([text, text, `${text} now`, `${text} now later`])
  })

  it('is shown and stored without marks, except in the input history', async () => {
    const { shown } = await send(paste('See /etc/hosts'))
    expect(shown).to.equal(plainText(shown))
    expect(world.transcript().turns.map(({ user }) => user)).to.deep.equal(['See /etc/hosts'])
    const recalled = readFileSync(join(world.home, 'recall.jsonl'), 'utf8')
    expect(plainText(recalled)).to.contain('"See /etc/hosts"')
    expect(recalled).not.to.equal(plainText(recalled))
  })
})
