import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import xterm from '@xterm/headless'
import { expect } from 'chai'
import { Tmux } from '../programs/tmux.ts'
import { ChatHandler } from '../support/handlers/chat.ts'
import { perTest } from '../support/lifetime.ts'
import { type Running, startChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { type Served, serveHandler } from '../support/scripted-server.ts'
import { describeSample } from '../support/take-sample.ts'
import { until } from '../support/until.ts'

/** The rows that a session assumes in a test. */
const rows = 24

const markdown = `# Title

Some **bold** and *italic* words with \`code\`, a [link](https://a.example/x), and 漢字漢字 that are wide; the
paragraph is long enough to be wrapped at every width that is tested here, and so is this second sentence.

1. one
   - two
   - [x] done

> quoted text that is long enough to be wrapped at forty columns

\`\`\`js
const line = 'a line of code that is much longer than forty columns and even longer than eighty columns'
\`\`\`

| name | value |
|---|--:|
| first | 1 |
| second | a longer value |

The end.`

/** What a person does. Each function returns the bytes that the session has written by then. */
const sessions: Record<string, (session: Session) => Promise<void>> = {
  'typing and editing': async (session) => {
    session.type('Hello, world, with a line that is wrapped at forty columns')
    session.type('\u0001\u001b[C\u001b[C\u001b[3~\u0005\u0017\u0017 漢字\u007f!\n')
    session.type('\u001b[200~pasted\nin two lines\u001b[201~\u001b[A\u001b[A\u001b[H>')
    session.type('\u001b[F!')
    await session.settle()
  },
  'a reply with Markdown while the next message is typed': async (session) => {
    const answer = session.server.answerNext({ text: markdown.match(/.{1,60}/gs) ?? [], held: true })
    session.type('Hello\r')
    await answer.begun
    answer.release(3)
    await session.waitFor('italic')
    session.type('the next message\nin two lines')
    await session.waitFor('in two lines')
    answer.release()
    await session.waitFor(/total [\d.]+s/)
    await session.settle()
  },
  'commands, an interrupted reply, and a cleared screen': async (session) => {
    session.type('/help\r')
    await session.waitFor('/quit')
    const answer = session.server.answerNext({ text: ['One line.\n\nHalf', ' more'], held: true })
    session.type('Hello\r')
    await answer.begun
    answer.release(1)
    await session.waitFor('One line.')
    session.type('\u0003')
    await session.waitFor('[interrupted]')
    session.type('\u000cafter the screen was cleared\u0012Hel')
    await session.settle()
  },
}

describeSample('a session on three terminal emulators', 1, () => {
  const world = perTest(
    async () => ({ sandbox: createSandbox(), server: await serveHandler(new ChatHandler()) }),
    async ({ sandbox, server }) => {
      await server.close()
      sandbox.remove()
    },
  )

  for (const [name, act] of Object.entries(sessions)) {
    for (const columns of [40, 80, 132]) {
      it(`looks the same at ${columns} columns: ${name}`, async () => {
        const { sandbox, server } = world
        const session = new Session(
          startChatctl(sandbox, ['chat'], {
            terminal: { columns },
            env: { TERM: 'xterm-256color', CHATCTL_API_KEY: 'a-key', CHATCTL_BASE_URL: server.url },
          }),
          server,
        )
        await session.waitFor('\u001b[c')
        // Neither tmux nor pyte supports the kitty keyboard protocol.
        session.type('\u001b[?62;22c')
        await act(session)
        const before = session.shown
        const after = await session.leave()
        for (const bytes of [before, after]) {
          const expected = await screenOfXterm(bytes, columns)
          expect(expected.lines.join('').trim()).not.to.equal('')
          expect(screenOfPyte(bytes, columns), 'pyte').to.deep.equal(expected)
          expect(await screenOfTmux(bytes, columns, sandbox), 'tmux').to.deep.equal(expected)
        }
      })
    }
  }
})

/** A session whose output is recorded. */
class Session {
  readonly server: Served<ChatHandler>
  readonly #running: Running

  constructor(running: Running, server: Served<ChatHandler>) {
    this.#running = running
    this.server = server
  }

  get shown(): string {
    return this.#running.written().stdout
  }

  type(text: string): void {
    this.#running.stdin.write(text)
  }

  async waitFor(words: string | RegExp): Promise<void> {
    await until(() => (typeof words === 'string' ? this.shown.includes(words) : words.test(this.shown)))
  }

  /** Waits until every key has had its effect. A redraw is the effect of the last one. */
  async settle(): Promise<void> {
    const { length } = this.shown
    this.type('~')
    await until(() => this.shown.length > length && this.shown.slice(length).includes('~'))
  }

  async leave(): Promise<string> {
    this.type('\u0003')
    this.type('\u0015\u0003\u0003')
    const { stdout } = await this.#running.ended
    return stdout
  }
}

interface ShownScreen {
  /** Without spaces at the end. */
  lines: string[]
  row: number
  column: number
}

async function screenOfXterm(bytes: string, columns: number): Promise<ShownScreen> {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true })
  await new Promise<void>((resolve) => terminal.write(bytes, resolve))
  const { active } = terminal.buffer
  const lines = Array.from(
    { length: rows },
    (_, row) =>
      active
        .getLine(active.baseY + row)
        ?.translateToString(true)
        .trimEnd() ?? '',
  )
  const screen = { lines, row: active.cursorY, column: active.cursorX }
  terminal.dispose()
  return screen
}

function screenOfPyte(bytes: string, columns: number): ShownScreen {
  const script = join(import.meta.dirname, 'pyte-screen.py')
  const output = execFileSync('/usr/bin/python3', [script, `${columns}`, `${rows}`], { input: bytes })
  const { lines, ...cursor } = JSON.parse(output.toString()) as ShownScreen
  return { lines: lines.map((line) => line.trimEnd()), ...cursor }
}

async function screenOfTmux(
  bytes: string,
  columns: number,
  sandbox: ReturnType<typeof createSandbox>,
): Promise<ShownScreen> {
  const path = join(sandbox.home, 'recorded')
  writeFileSync(path, bytes)
  // tmux has read everything before the title that follows it.
  const show = `stty -echo; cat '${path}'; printf '\\033]2;shown\\007'; exec sleep 60`
  const terminal = await Tmux.run(sandbox, ['sh', '-c', show], { columns, rows })
  try {
    while ((await terminal.query('#{pane_title}')) !== 'shown') await sleep(10)
    const shown = (await terminal.screen()).split('\n')
    const lines = Array.from({ length: rows }, (_, row) => shown[row] ?? '')
    return { lines, ...(await terminal.cursor()) }
  } finally {
    await terminal.close()
  }
}
