import fs, { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { withSessionList } from '../../../src/commands/chat/choose-session.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { truncateToWidth } from '../../../src/terminal/editor/graphemes.ts'
import { ScreenTerminal } from '../../chat/session/screen-terminal.ts'
import { perTest } from '../../support/lifetime.ts'
import { startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

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
