import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { perTest } from '../../support/lifetime.ts'
import { type HostOptions, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { serveHandler } from '../../support/scripted-server.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

const reply = 'First:\n\n```sh\necho 1\n```\n\n> Second:\n> ~~~py\n> if a:\n> \tb\n> ~~~\n\nDone.'
const first = 'echo 1\n'
const second = 'if a:\n\tb\n'

const terminal = { columns: 60 }

describe('chat send and chat complete with --extract', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new ChatHandler()))

  const run = (args: readonly string[], { env, ...given }: HostOptions = {}) =>
    runChatctl(sandbox, ['chat', ...args], {
      ...given,
      // While no time passes, a terminal shows nothing about the wait.
      host: { clock: new SteppedClock() },
      service: server,
      env,
    })
  const printed = async (args: readonly string[], given?: HostOptions, text = reply) => {
    server.answerNext({ text: text.match(/[\s\S]{1,9}/gu) ?? [] })
    const { exitCode, stdout, stderr } = await run(args, given)
    expect({ exitCode, stderr: given?.terminal ? '' : stderr }, args.join(' ')).to.deep.equal({
      exitCode: 0,
      stderr: '',
    })
    return stdout
  }

  for (const given of [{}, { terminal }]) {
    for (const args of [
      ['send'],
      ['send', '--no-stream'],
      ['send', '--stream-format', 'sse'],
      ['complete'],
    ]) {
      const where = given.terminal ? 'a terminal' : 'a pipe'
      it(`print only the code in ${where}: ${args.join(' ')}`, async () => {
        expect(await printed([...args, '-x', 'Hi'], given)).to.equal(first)
        expect(await printed([...args, 'Hi', '-x2'], given)).to.equal(second)
        expect(await printed([...args, '--extract=last', 'Hi'], given)).to.equal(second)
        expect(await printed([...args, '-x=all', '--', 'Hi'], given)).to.equal(`${first}\n${second}`)
        const sent = args[0] === 'send' ? server.sends.map(({ message }) => message) : []
        expect(new Set(sent)).to.deep.equal(new Set(args[0] === 'send' ? ['Hi'] : []))
      })
    }
  }

  it('send the words after -x as the message, also a number', async () => {
    expect(await printed(['send', '-x', '2'])).to.equal(first)
    expect(server.sends.map(({ message }) => message)).to.deep.equal(['2'])
  })

  it('remove control characters only in a terminal', async () => {
    const code = '\u001b[31mred\n'
    expect(await printed(['send', '-x', 'Hi'], {}, `~~~\n${code}~~~`)).to.equal(code)
    expect(await printed(['send', '-x', 'Hi'], { terminal }, `~~~\n${code}~~~`)).to.equal('[31mred\n')
  })

  it('exit 1 if there is no such block, and say where the whole reply is', async () => {
    server.answerNext(reply)
    const third = await run(['send', '-x3', 'Hi'])
    expectFailure(third, 1, 'contains 2 code blocks, so block 3 does not exist')
    const [, command = ''] = /: chatctl (history .*)\n/.exec(third.stderr) ?? []
    const { stdout } = await runChatctl(sandbox, command.split(' '), { service: server })
    expect(stdout).to.contain(reply.replaceAll(/^/gm, '> ').replaceAll(/ $/gm, ''))

    for (const args of [['send', '--no-stream'], ['send'], ['complete']]) {
      server.answerNext('No code.')
      const none = await run([...args, '-x', 'Hi'])
      expectFailure(none, 1, 'The reply contains no code block')
      // The service does not keep a completion.
      expect(none.stderr.startsWith('No code.\n'), args.join(' ')).to.equal(args[0] === 'complete')
    }
    server.answerNext('No code.')
    const asJson = await run(['complete', '-x', 'Hi'], { env: { CHATCTL_OUTPUT: 'json' } })
    const [notice, error] = asJson.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(notice).to.deep.equal({ notice: { response: 'No code.' } })
    expect(error.error).to.include({ code: 'no_code_block', message: 'The reply contains no code block' })
  })

  it('print no code of a truncated reply, which goes to stderr', async () => {
    server.answerNext({ text: reply, ending: 'unmarked' })
    const { exitCode, stdout, stderr } = await run(['send', '-x', 'Hi'])
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 69, stdout: '' })
    expect(stderr.startsWith(`${reply}\nError: `)).to.equal(true)
  })

  it('refuse other output and invalid values before anything is sent', async () => {
    for (const args of [
      ['send', '-x', '--json'],
      ['send', '-x', '-o', 'tsv'],
      ['send', '-x', '--fields', 'response'],
      ['complete', '-x', '--jq', '.id'],
      ['send', '-x', '--stream'],
      ['send', '-x', '--raw'],
      ['complete', '--raw', '--json'],
      ['send', '-x0'],
      ['send', '--extract=first'],
      ['complete', '--extract='],
    ]) {
      const { exitCode, stdout, stderr } = await run([...args, 'Hi'])
      expect({ exitCode, stdout }, args.join(' ')).to.deep.equal({ exitCode: 2, stdout: '' })
      expect(stderr)
        .to.match(/--(extract|raw)/)
        .and.not.to.contain('\0')
    }
    expect(server.requests).to.deep.equal([])
  })
})
