import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import { ScreenTerminal } from '../../chat/session/screen-terminal.ts'
import { expectGolden } from '../../support/golden.ts'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { perTest } from '../../support/lifetime.ts'
import { type HostOptions, type Running, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { serveHandler } from '../../support/scripted-server.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { until } from '../../support/until.ts'

const golden = join(import.meta.dirname, 'reply-in-terminal.txt')

const reply = `# Lists and code

Some **bold** text, \`code\`, and a [link](https://chat.example/docs) that is longer than a line.

1. First:
   \`\`\`js
   const a = "b"
   \`\`\`
2. Second

> A quote

| name | size |
|------|-----:|
| a | 1 |
| b | 20 |
`

// biome-ignore lint/suspicious/noControlCharactersInRegex: it begins a change of style
const sequence = /\u001b\[(\d+)m/g

describe('a reply in a terminal', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new ChatHandler()))

  const options = (given: HostOptions = {}): HostOptions => ({
    terminal: { columns: 40 },
    ...given,
    // While no time passes, nothing is shown about the wait.
    host: { clock: new SteppedClock(), ...given.host },
    env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key', TERM: 'xterm', ...given.env },
  })
  const run = (args: readonly string[], given?: HostOptions) => runChatctl(sandbox, args, options(given))
  const start = (args: readonly string[], given?: HostOptions): Running => {
    const running = startChatctl(sandbox, args, options(given))
    running.stdin.end()
    return running
  }
  const screenOf = async (output: string): Promise<string> => {
    const screen = new ScreenTerminal(40)
    screen.write(output.replaceAll('\n', '\r\n'))
    return screen.text()
  }

  it('matches the golden file, with and without color', async () => {
    const shown: string[] = []
    for (const [args, env] of [
      [['chat', 'send', 'Hi'], {}],
      [['chat', 'send', 'Hi', '--no-stream'], { NO_COLOR: '1' }],
      [['chat', 'complete', 'Hi', '--no-color'], {}],
    ] as const) {
      server.answerNext(reply)
      const { exitCode, stdout } = await run(args, { env })
      expect(exitCode).to.equal(0)
      shown.push(`${args.join(' ')}\n${stdout.replaceAll(sequence, '<$1>')}`)
    }
    const text = shown.join(`${'='.repeat(40)}\n`)
    expectGolden(golden, text)
    expect(text.split('='.repeat(40)).slice(1).join('')).not.to.match(/<3\d>/)
  })

  it('is shown word by word as it arrives', async () => {
    const answer = server.answerNext({ text: ['**Good** mor', 'ning\n', '```\ncode', '\n```'], held: true })
    const running = start(['chat', 'send', 'Hi', '--no-color'])
    const shows = (text: RegExp) => until(() => text.test(stripVTControlCharacters(running.written().stdout)))
    answer.release(1)
    await shows(/^Good$/)
    answer.release(1)
    await shows(/^Good morning$/)
    answer.release(1)
    await shows(/^Good morning\n(?![\s\S]*code)/)
    answer.release()
    expect(stripVTControlCharacters((await running.ended).stdout)).to.match(/^Good morning\n[\s\S]*\bcode\n/)
  })

  it('fits a terminal that is resized during the reply', async () => {
    const words = 'word '.repeat(12)
    const answer = server.answerNext({ text: [`${words}\n\n`, words], held: true })
    const running = start(['chat', 'send', 'Hi'])
    answer.release(1)
    await until(() => running.written().stdout.endsWith('word word\n'))
    Object.assign(running.stdout, { columns: 16 })
    answer.release()
    const widths = (await running.ended).stdout.split('\n').map((line) => line.length)
    expect(widths).to.deep.equal([39, 19, 0, 14, 14, 14, 14, 0])
  })

  it('is plain with --raw and with TERM=dumb, and has no control characters', async () => {
    for (const [args, env] of [
      [['chat', 'send', 'Hi', '--raw'], {}],
      [['chat', 'send', 'Hi', '--raw', '--no-stream'], {}],
      [['chat', 'complete', 'Hi', '--raw'], {}],
      [['chat', 'send', 'Hi'], { TERM: 'dumb' }],
      [['chat', 'complete', 'Hi'], { TERM: 'dumb' }],
    ] as const) {
      server.answerNext({ text: [`${reply}\u001b[3`, '1mred\u202e'] })
      expect((await run(args, { env })).stdout, args.join(' ')).to.equal(`${reply}red\n`)
    }
  })

  it('ends with a whole line if it is interrupted or truncated', async () => {
    for (const part of [
      'Half a se',
      '| a | b |\n|---|---|\n| 1 |',
      '```js\nconst a',
      '- item\n  > **quo',
      '',
    ]) {
      const pieces = part === '' ? [] : [part]
      const held = server.answerNext({ text: [...pieces, 'never'], held: true })
      const running = start(['chat', 'send', 'Hi', '--no-color'])
      await held.begun
      held.release(pieces.length)
      await until(() => running.written().stdout !== '' || part === '' || !/^\w/.test(part))
      running.interrupt()
      const interrupted = await running.ended
      expect(interrupted.exitCode, part).to.equal(130)
      expect(interrupted.stdout, part).to.match(/^$|\n$/)

      server.answerNext({ text: pieces.length === 0 ? [''] : pieces, ending: 'unmarked' })
      const { exitCode, stdout } = await run(['chat', 'send', 'Hi', '--no-color'])
      expect(exitCode, part).to.equal(69)
      expect(stdout, part).to.match(/^(?:Error:|(?:.*\n)+Error:)/)
    }
  })

  describe('that has not arrived', () => {
    const clock = perTest(
      () => new SteppedClock(),
      () => {},
    )
    const wait = async (running: Running, ms: number, shown: string | RegExp) => {
      clock.pass(ms)
      await until(() => running.written().stdout.search(shown) >= 0)
    }

    for (const args of [
      ['chat', 'send', 'Hi'],
      ['chat', 'send', 'Hi', '--json'],
      ['chat', 'complete', 'Hi'],
    ])
      it(`is waited for with the elapsed seconds, and without a trace afterwards: ${args.join(' ')}`, async () => {
        const answer = server.answerNext({ text: 'Hello', held: true })
        const running = start(args, { host: { clock } })
        await answer.begun
        expect(running.written().stdout).to.equal('')
        await wait(running, 500, 'Waiting for the reply…')
        await wait(running, 2_600, /Waiting for the reply… 3 s$/)
        answer.release()
        const { stdout } = await running.ended
        expect(await screenOf(stdout)).to.match(args.includes('--json') ? /^\{[\s\S]*\}$/ : /^Hello$/)
        expect(stdout.split('Hello')[1]).not.to.contain('Waiting')
      })

    it('leaves no trace if the wait is interrupted or fails', async () => {
      const answer = server.answerNext({ text: 'Hello', held: true })
      const running = start(['chat', 'send', 'Hi'], { host: { clock } })
      await answer.begun
      await wait(running, 500, 'Waiting')
      running.interrupt()
      const { exitCode, stdout } = await running.ended
      expect(exitCode).to.equal(130)
      expect(await screenOf(stdout)).to.equal('')

      const failing = server.answerNext({ text: ['Hello'], held: true, ending: 'reset' })
      const failed = start(['chat', 'complete', 'Hi'], { host: { clock } })
      await failing.begun
      await wait(failed, 500, 'Waiting')
      failing.release()
      expect(await screenOf((await failed.ended).stdout)).to.match(/^Error: /)
    })

    it('is waited for while the model thinks', async () => {
      const requested = Promise.withResolvers<void>()
      const thinking = Promise.withResolvers<void>()
      server.failNext(async (_, response) => {
        requested.resolve()
        await thinking.promise
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (const data of [{ reasoning: 'Hm' }, { delta: 'Hello' }, { reasoning: 'So' }])
          response.write(`data: ${JSON.stringify(data)}\n\n`)
        response.end('data: [DONE]\n\n')
      })
      const running = start(['chat', 'send', 'Hi'], { host: { clock } })
      await requested.promise
      clock.pass(500)
      thinking.resolve()
      const { stdout } = await running.ended
      expect(stdout).to.contain('Thinking…')
      expect(await screenOf(stdout)).to.equal('Hello')
    })

    for (const [title, args, given] of [
      ['with --quiet', ['--quiet'], {}],
      ['with TERM=dumb', [], { env: { TERM: 'dumb' } }],
      ['in a pipe', [], { host: { isTerminal: { stdin: true, stdout: false, stderr: true } } }],
      ['if stderr is a file', [], { host: { isTerminal: { stdin: true, stdout: true, stderr: false } } }],
    ] as const)
      it(`is waited for in silence ${title}`, async () => {
        const answer = server.answerNext({ text: 'Hello', held: true })
        const running = start(['chat', 'send', 'Hi', ...args], {
          ...given,
          host: { ...('host' in given && given.host), clock },
        })
        await answer.begun
        clock.pass(5_000)
        answer.release()
        expect((await running.ended).stdout).to.equal('Hello\n')
      })
  })
})
