import fs, { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { withSessionList } from '../../../src/commands/chat/choose-session.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { truncateToWidth } from '../../../src/terminal/editor/graphemes.ts'
import { ScreenTerminal } from '../../chat/session/screen-terminal.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { perTest } from '../../support/lifetime.ts'
import { type HostOptions, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { failing, serveHandler } from '../../support/scripted-server.ts'

describe('the sessions of this machine', () => {
  const sandbox = perTest(createSandbox)
  const directory = () => join(sandbox.home, '.local', 'share', 'chatctl', 'sessions')

  /** Plants a session that was last used so many seconds after a fixed time. */
  function plant(text: string, second: number, contextId?: string, profile = 'local'): TranscriptWriter {
    const writer = TranscriptWriter.create(directory(), { profile, baseUrl: null }, systemClock)
    const at = new Date(Date.UTC(2026, 0, 2, 3, 4, second))
    const named = contextId === undefined ? {} : { context_id: contextId }
    writer.append({ type: 'options', at: at.toISOString(), mode: 'context', ...named })
    writer.append({ type: 'user', turn: 1, at: at.toISOString(), text })
    writer.close()
    utimesSync(writer.path, at, at)
    return writer
  }

  const run = (...args: string[]) => runChatctl(sandbox, ['chat', ...args])
  const list = async (...args: string[]) => JSON.parse((await run('sessions', '--json', ...args)).stdout)
  const transcripts = () => readdirSync(directory()).sort()

  it('are listed up to a limit, the last used first', async () => {
    for (let second = 0; second < 5; second++) plant(`number ${second}`, second)
    expect(
      (await list('--limit', '2')).map(({ first_message: first }: Record<string, unknown>) => first),
    ).to.deep.equal(['number 4', 'number 3'])
    expect(await list('--limit', '5')).to.have.lengthOf(5)
    expect((await run('sessions', '--limit', '5')).stderr).to.equal('')
  })

  it('are selected with chat sessions --local and --stored by where the conversation is stored', async () => {
    const [service, machine] = [plant('of the service', 1, 'ctx_1'), plant('of this machine', 2)]
    // A reply that names a conversation, and one that names none.
    for (const [index, { path }] of [service, machine].entries()) {
      const open = TranscriptWriter.reopen(path)
      const at = `2026-01-02T03:04:05.00${index}Z`
      open.append({ type: 'end', turn: 1, at, complete: true, verified: true, first_ms: 1 })
      open.close()
    }
    for (const [flags, ids] of [
      [[], [machine.id, service.id]],
      [['--local'], [machine.id]],
      [['--stored'], [service.id]],
      [['--local', '--search', 'service'], []],
    ] as const)
      expect(
        (await list(...flags)).map(({ id }: Record<string, unknown>) => id),
        flags.join(' '),
      ).to.deep.equal(ids)
    expect((await list()).map(({ stored, mode }: Record<string, unknown>) => [stored, mode])).to.deep.equal([
      ['local', 'completions'],
      ['service', 'context'],
    ])
    const shown = (await run('sessions', '-o', 'table')).stdout
    expect(shown).to.match(/ STORED +NAME\n.* local +of this machine\n/)
    const seen = (await run('sessions', '--local', '--search', 'service')).stderr
    expect(seen).to.match(/^No local sessions that match/)
    expectFailure(await run('sessions', '--local', '--stored'), 2, '--stored')
  })

  it('are renamed without changing their order', async () => {
    const { id } = plant('old', 1)
    plant('new', 2)
    const { exitCode, stdout } = await run('rename', id, ' Trip to Rome ', '--json')
    expect(exitCode).to.equal(0)
    expect(JSON.parse(stdout)[0]).to.include({ id, name: 'Trip to Rome' })
    const [first, second] = await list()
    expect([first.first_message, second.name]).to.deep.equal(['new', 'Trip to Rome'])
    expect((await list('--limit', '1'))[0]).to.include({ first_message: 'new' })
    expect((await run('show', 'Trip to Rome')).exitCode).to.equal(0)
    for (const empty of [' ', '\u001b\n']) expectFailure(await run('rename', id, empty), 2, 'NAME is empty')
    await run('rename', id, `a\tb\n\u001b[31m${'😀'.repeat(10_000)}`)
    const [, renamed] = await list()
    expect(renamed.name).to.match(/^a b \[31m😀+…$/u)
    expect(Array.from(renamed.name)).to.have.lengthOf(100)
    expect((await run('show', renamed.name)).exitCode).to.equal(0)
    expectFailure(await run('rename', 'nowhere', 'x'), 6, 'No session "nowhere"')
  })

  it('have names that no other session of the profile has, and that are the ID of none', async () => {
    const [one, two] = [plant('one', 1), plant('two', 2)]
    const work = plant('Rome', 3, undefined, 'work')
    await runChatctl(sandbox, ['config', 'set', 'base_url', 'https://chat.example', '-p', 'work'])
    for (const { id } of [one, one, work]) expect((await run('rename', id, 'Rome')).exitCode).to.equal(0)
    expectFailure(await run('rename', two.id, 'Rome'), 2, one.id, 'has the name "Rome"')
    expectFailure(await run('rename', two.id, 'Rome', '--dry-run'), 2, 'has the name "Rome"')
    expectFailure(await run('rename', two.id, one.id), 2, 'is the ID of another session')
    expectFailure(await run('show', 'Rome'), 2, '"Rome" is ambiguous', one.id, work.id)
    for (const [profile, id] of [
      ['local', one.id],
      ['work', work.id],
    ] as const)
      expect(JSON.parse((await run('show', 'Rome', '--json', '-p', profile)).stdout)).to.include({ id })
    await run('delete', 'Rome', '--yes', '-p', 'work')
    expect(transcripts()).to.have.members([one, two].map(({ id }) => `${id}.jsonl`))
    expectFailure(await run('rename', 'Rome', 'x', '-p', 'work'), 6, 'No session "Rome"')
    expect((await run('rename', 'Rome', 'Paris', '-p', 'local')).exitCode).to.equal(0)
  })

  it('are deleted, all or none, after a confirmation', async () => {
    const [one, two, three] = [plant('one', 1, 'ctx_1'), plant('two', 2), plant('three', 3)]
    expectFailure(await run('delete', one.id), 3, '--yes')
    expectFailure(await run('delete', one.id, 'nowhere', '--yes'), 6, 'nowhere')
    expect(transcripts()).to.have.lengthOf(3)
    const { exitCode, stdout, stderr } = await run('delete', one.id, two.id, one.id, '--yes')
    expect({ exitCode, rows: stdout.trimEnd().split('\n').length }).to.deep.equal({ exitCode: 0, rows: 2 })
    expect(stderr).to.contain('Deleted 2 sessions').and.to.contain('its mirror, may still contain: ctx_1')
    expect(transcripts()).to.deep.equal([`${three.id}.jsonl`])
  })

  it('are named in the confirmation without control characters', async () => {
    const { id } = plant('\u001b[31mred', 1)
    const { stderr } = await run('delete', id)
    expect(stderr).to.contain(`Delete the session ${id} "`).and.to.contain('red"').and.to.contain('(1 turn)')
    expect(stderr).not.to.contain('\u001b')
    expect(transcripts()).to.have.lengthOf(1)
  })

  it('are pages with the message as it was written, the reply as Markdown, and how the reply ended', async () => {
    const writer = plant('__init__.py\n\n*a*', 1, 'ctx_1')
    const { path } = writer
    const open = TranscriptWriter.reopen(path)
    open.append({ type: 'reasoning', turn: 1, text: 'Hm' })
    open.append({ type: 'delta', turn: 1, text: '**Bold**' })
    open.append({
      type: 'end',
      turn: 1,
      at: '2026-01-02T03:05:00Z',
      complete: false,
      verified: false,
      reason: 'reset',
    })
    open.close()
    const { exitCode, stdout } = await run('show', writer.id, '-o', 'html')
    expect(exitCode).to.equal(0)
    expect(stdout).to.match(/^<!doctype html>.*<\/html>\n$/s)
    expect(stdout).to.contain(
      `<h1 dir="auto">__init__.py, session ${writer.id}, profile local, conversation ctx_1</h1>`,
    )
    expect(stdout).to.contain('>__init__.py\n\n*a*</div>').and.to.contain('2026-01-02 03:04:01 UTC')
    expect(stdout).to.contain('<strong>Bold</strong>').and.to.contain('truncated after 8 characters: reset')
    expect(stdout).not.to.contain('Hm')
    expect((await run('show', writer.id, '-o', 'html', '--reasoning')).stdout).to.contain('Hm')
  })

  it('are neither renamed nor deleted while another process has one of them open', async () => {
    const [one, two] = [plant('one', 1), plant('two', 2)]
    const open = TranscriptWriter.reopen(two.path)
    try {
      expectFailure(await run('delete', one.id, two.id, '--yes'), 7, 'is open in another chatctl process')
      expectFailure(await run('rename', two.id, 'x'), 7, 'is open in another chatctl process')
    } finally {
      open.close()
    }
    expect(transcripts()).to.have.lengthOf(2)
  })

  it('are not created again by a session that was about to resume one', () => {
    const { path } = plant('one', 1)
    utimesSync(path, 0, 0)
    expect(existsSync(path)).to.equal(true)
    return run('delete', path.replace(/.*\/|\.jsonl$/g, ''), '--yes').then(() => {
      expect(() => TranscriptWriter.reopen(path)).to.throw(/No transcript/)
      expect(existsSync(path)).to.equal(false)
    })
  })
})

const code = '```sh\necho 1\n```\n\n**Then**:\n\n```sh\necho 2\n```'

describe('chat show without an ID', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new ChatHandler()))

  const run = (args: readonly string[], options: HostOptions = {}) =>
    runChatctl(sandbox, ['chat', ...args], { ...options, service: server })
  const send = async (text: string, reply: string, ...flags: string[]) => {
    server.answerNext(reply)
    expect((await run(['send', text, ...flags])).exitCode).to.equal(0)
  }
  const printed = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await run(['show', ...args])
    expect({ exitCode, stderr }, args.join(' ')).to.deep.equal({ exitCode: 0, stderr: '' })
    return stdout
  }

  it('prints the last conversation of this service and profile with --last, stored or not', async () => {
    await send('First', 'One')
    await send('Second', 'Two')
    expect(await printed('--last')).to.match(/^Second, session [\s\S]*You: Second\n\nTwo\n$/)
    await send('Third', 'Three', '--system', 'Be brief')
    expect(await printed('--last')).to.match(/^Third, session [\s\S]*You: Third\n\nThree\n$/)
    await send('Again', 'Four', '--context', 'ctx_1')
    expect(await printed('--last')).to.match(/^First, session [\s\S]*You: Again\n\nFour\n$/)
    expect(await printed('--last', '-o', 'markdown')).to.match(/^# First, session /)
    expect(JSON.parse(await printed('--last', '--json'))).to.include({ context_id: 'ctx_1', name: 'First' })
    const elsewhere = await run(['show', '--last'], { env: { CHATCTL_BASE_URL: 'https://chat.example' } })
    expectFailure(elsewhere, 6, 'no transcript of the last conversation', 'chat sessions --all')
    await send('Unrecorded', 'Five', '--no-save')
    expectFailure(await run(['show', '--last']), 6, 'no transcript of the last conversation')
  })

  it('prints the last reply with --reply, and its code with --extract, also of a session by its name', async () => {
    await send('First', 'One')
    await send('Code', code)
    await send('Without code', 'None.', '--context', 'ctx_1')
    for (const which of ['Code', '--context=ctx_2']) {
      if (which !== 'Code') await send('Code again', code, which)
      const words = which === 'Code' ? [which] : ['--last']
      expect(await printed(...words, '--reply')).to.equal(`${code}\n`)
      expect(await printed(...words, '-x')).to.equal('echo 1\n')
      expect(await printed(...words, '-x2')).to.equal('echo 2\n')
      expect(await printed(...words, '--extract=all')).to.equal('echo 1\n\necho 2\n')
    }
    server.failNext(failing(500, 'broken', 'Out of order'))
    await run(['send', 'Fails'])
    expect(await printed('--last', '--reply')).to.equal(`${code}\n`)
    const none = await run(['show', 'Code', '-x3'])
    expectFailure(none, 1, 'contains 2 code blocks, so block 3 does not exist', / chat show s\S+ --reply$/m)
    const { stdout } = await run(['show', 'Code', '--reply'], { terminal: { columns: 60 } })
    expect(stdout).to.contain('Then').and.not.to.contain('**')
  })

  it('fails for a session without a reply, and for flags that exclude each other', async () => {
    server.failNext(failing(500, 'broken', 'Out of order'))
    await run(['send', 'First'])
    expectFailure(await run(['show', 'First', '--reply']), 6, 'has no reply')
    for (const args of [
      ['First', '--last'],
      ['First', '--reply', '-x'],
      ['First', '--reply', '--json'],
      ['First', '-x', '-o', 'markdown'],
    ]) {
      const { exitCode, stderr } = await run(['show', ...args])
      expect(exitCode, args.join(' ')).to.equal(2)
      expect(stderr).to.match(/--(last|reply|extract)/)
    }
  })

  it('exits 3 in a non-interactive run, and names --last and the list', async () => {
    for (const args of [[], ['--no-input']])
      expectFailure(await run(['show', ...args]), 3, 'with --last, or list them with chatctl chat sessions')
  })

  it('fails in a terminal if there is no session', async () => {
    const { exitCode, stdout } = await run(['show'], { terminal: { columns: 80 } })
    expect(exitCode).to.equal(2)
    expect(stdout).to.contain('There are no sessions with this service and profile')
  })
})

const up = '\u001b[A'
const down = '\u001b[B'

describe('the list of sessions', () => {
  const sandbox = perTest(createSandbox)
  const directories = () => new Directories(sandbox.env)

  /** Plants a session that was last used so many minutes after a fixed time. */
  function plant(
    minute: number,
    turns: readonly (readonly [prompt: string, reply: string])[],
    name?: string,
  ) {
    const writer = TranscriptWriter.create(
      directories().sessions,
      { profile: 'local', baseUrl: null },
      systemClock,
    )
    const at = new Date(Date.UTC(2026, 0, 2, 3, minute))
    if (name !== undefined) writer.append({ type: 'name', name })
    for (const [index, [text, reply]] of turns.entries()) {
      const turn = index + 1
      writer.append({ type: 'user', turn, at: at.toISOString(), text })
      for (const part of reply.match(/.{1,5}/gs) ?? []) writer.append({ type: 'delta', turn, text: part })
      writer.append({ type: 'end', turn, at: at.toISOString(), complete: true, verified: true, first_ms: 1 })
    }
    writer.close()
    utimesSync(writer.path, at, at)
    return writer.id
  }

  /** Four sessions, of which the last is the newest. */
  const plantFour = () => [
    plant(1, [
      ['How deep is Lake Baikal?', 'About 1,642 m.'],
      ['And Tanganyika?', 'It has 1,470 m.'],
    ]),
    plant(2, [['数据库的备份和恢复以及其他许多非常重要的事情', '# 备份\n\nFirst of all']]),
    plant(
      3,
      [
        ['Ships', 'A frigate is one.'],
        ['Thanks', ''],
      ],
      'Naval history',
    ),
    plant(4, [['Write a haiku about rivers\nand mountains', 'Water finds its way']]),
  ]

  /** Runs a command in a terminal that xterm.js renders. */
  const start = (args: readonly string[], columns = 80) => {
    const running = startChatctl(sandbox, args, { terminal: { columns } })
    const screen = new ScreenTerminal(columns, 24)
    running.stdout.on('data', (chunk) => screen.write(String(chunk).replaceAll('\n', '\r\n')))
    return { ...running, screen, type: (text: string) => void running.stdin.write(text) }
  }
  const rowsOf = (text: string) => text.split('\n').filter((line) => /^[> ] \d/.test(line))

  for (const [columns, newest] of [
    [40, '> 01-02 03:04  Write a ha…  Water find…'],
    [80, '> 2026-01-02 03:04  Write a haiku about rivers    Water finds its way'],
    [132, '> 2026-01-02 03:04  Write a haiku about rivers                    Water finds its way'],
  ] as const)
    it(`shows time, name, and last message in ${columns} columns, the newest chosen at the bottom`, async () => {
      plantFour()
      const { screen, interrupt, ended } = start(['chat', '--resume'], columns)
      const rows = rowsOf(await screen.waitFor(/^> \d/m))
      expect(rows).to.have.lengthOf(4)
      expect(rows.at(-1)).to.equal(newest)
      expect(rows[0]).to.match(/^ {2}\S.* How deep.* {2}It has/)
      expect(rows[1]).to.contain('数据库').and.to.contain('# ')
      expect(rows[2]).to.contain('Naval').and.to.contain('Thanks')
      for (const row of rows) expect(truncateToWidth(row, columns - 1).text).to.equal(row)
      interrupt()
      expect((await ended).exitCode).to.equal(130)
    })

  /** The rows when the last one is this. */
  const until = async ({ screen }: ReturnType<typeof start>, last: string) =>
    rowsOf(await screen.waitFor(new RegExp(`^> .*${last}.*\\n\\? Session`, 'm')))

  it('is filtered by names, first messages, and the content of all messages, word by word', async () => {
    plantFour()
    const list = start(['chat', '--resume'])
    await until(list, 'haiku')
    const clear = '\u0015'
    for (const [typed, found] of [
      ['naval', ['Naval']],
      // A part of a word of a name or a first message.
      ['story', ['Naval']],
      // The second message, and the reply to the first one.
      ['tanganyika', ['Baikal']],
      ['FRIGATE', ['Naval']],
      ['恢复', ['数据库']],
      // Words of different messages.
      ['baikal 1,470', ['Baikal']],
      ['wa', ['haiku']],
      ['ha', ['Baikal', 'haiku']],
      ['i', ['Baikal', 'Naval', 'haiku']],
      ['s2', ['Baikal', '数据库', 'Naval', 'haiku']],
    ] as const) {
      list.type(clear + typed)
      await list.screen.waitFor(`Session to resume: ${typed}`)
      const rows = await until(list, found.at(-1) ?? '')
      expect(rows, typed).to.have.lengthOf(found.length)
      for (const [index, name] of found.entries()) expect(rows[index], typed).to.contain(name)
    }
    list.type(`${clear}- words`)
    expect(rowsOf(await list.screen.waitFor('No match.'))).to.deep.equal([])
    // Enter without a match keeps what was typed.
    list.type('\r\u007f')
    await list.screen.waitFor(/resume: - word$/m)
    list.type('\u001b')
    expect((await list.ended).exitCode).to.equal(130)
  })

  it('goes to older sessions with Up, and to newer ones with Down', async () => {
    for (let minute = 1; minute <= 30; minute++) plant(minute, [[`number ${minute}`, '']])
    const list = start(['chat', '--resume'])
    expect(await until(list, 'number 30')).to.have.lengthOf(15)
    list.type(up.repeat(16))
    expect(rowsOf(await list.screen.waitFor(/^> .*number 14/m)).at(-1)).to.contain('number 28')
    list.type(down.repeat(2))
    await list.screen.waitFor(/^> .*number 16/m)
    list.type(up.repeat(40))
    await list.screen.waitFor(/^> .*number 1 /m)
    list.type('7')
    expect(await until(list, 'number 27')).to.have.lengthOf(3)
    list.interrupt()
    await list.ended
  })

  it('reads no file again for a key, however many sessions there are', async () => {
    const count = 200
    const id = plant(1, [['number 0', 'a reply']])
    const { sessions } = directories()
    const text = readFileSync(join(sessions, `${id}.jsonl`), 'utf8')
    for (let number = 1; number < count; number++) {
      const other = `${id.slice(0, -4)}${1000 + number}`
      const content = text.replaceAll(id, other).replace('number 0', `number ${number}`)
      writeFileSync(join(sessions, `${other}.jsonl`), content)
    }
    const own = { readFileSync, statSync, readdirSync }
    const reads: unknown[] = []
    for (const [name, work] of Object.entries(own)) {
      const counted = (...given: never[]): unknown => {
        reads.push(given[0])
        return (work as (...given: never[]) => unknown)(...given)
      }
      Object.assign(fs, { [name]: counted })
    }
    syncBuiltinESMExports()
    try {
      await withSessionList(directories(), {}, async (list) => {
        // Each transcript, and its size and time.
        expect(reads.length).to.be.within(2 * count, 2 * count + 10)
        await list.find('repl')
        reads.length = 0
        for (const typed of ['', 'n', 'nu', 'number', 'number 1', 'number 19', 'nothing'])
          await list.find(typed)
        const found = await list.find('number 199 reply')
        expect(found.map(({ name }) => name)).to.deep.equal(['number 199'])
        expect(reads).to.deep.equal([])
        // The last message of a row that is shown.
        for (const one of [...found, ...found]) expect(list.row(one, 80)).to.match(/ {2}a reply$/)
        expect(reads).to.deep.equal(found.map(({ path }) => path))
      })
    } finally {
      Object.assign(fs, own)
      syncBuiltinESMExports()
    }
  })

  it('opens with chat show, which prints the chosen session', async () => {
    plantFour()
    const list = start(['chat', 'show', '--profile', 'local'])
    await until(list, 'haiku')
    list.type(`${up}\r`)
    expect((await list.ended).exitCode).to.equal(0)
    const shown = await list.screen.waitFor(/^Naval history, session [\s\S]*You: Thanks/m)
    expect(shown).not.to.contain('Session to show')
  })

  it('opens in a session with /resume, without the session itself', async () => {
    plantFour()
    const { screen, type, ended, interrupt } = start(['chat', '--profile', 'local'])
    await screen.waitFor(/^>$/m)
    type('/resume\r')
    await screen.waitFor(/^> .*haiku.*\n\? Session/m)
    // The user who leaves the list is still in the session.
    type('\u001b')
    expect(rowsOf(await screen.waitFor(/^> \/resume\n\n>$/m))).to.deep.equal([])
    type('/resume\r')
    await screen.waitFor(/^> .*haiku.*\n\? Session/m)
    type('tanganyika\r')
    await screen.waitFor(/^> And Tanganyika\?\n[\s\S]*^>$/m)
    type('/resume\r')
    const rows = rowsOf(await screen.waitFor(/^> .*haiku.*\n\? Session/m))
    expect(rows.map((row) => row.includes('Baikal'))).to.deep.equal([false, false, false])
    type('\u0003')
    await screen.waitFor(/^> \/resume\n\n>$/m)
    type('\u0004')
    await screen.waitFor('Resume with')
    interrupt()
    await ended
  })
})
