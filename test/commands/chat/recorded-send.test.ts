import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, type Script, silent, sse, startScriptedServer, stream } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'

const reply = sse([{ id: 'm1', context_id: 'c1', delta: 'Hel' }, { delta: 'lo' }], { done: true })
const completion = json(200, {
  id: 'cmpl1',
  object: 'chat.completion',
  created: 1,
  model: 'small',
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Brief.' } }],
  x_extra: 1,
})

describe('chat send records its exchange', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)

  async function serve(script: Script): Promise<NodeJS.ProcessEnv> {
    await server.serve(script)
    return { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' }
  }

  const directory = () => join(sandbox.home, '.local', 'share', 'chatctl', 'sessions')
  const files = () =>
    existsSync(directory())
      ? readdirSync(directory())
          .filter((name) => name.endsWith('.jsonl'))
          .sort()
      : []
  const linesOf = (name: string) =>
    readFileSync(join(directory(), name), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  const only = () => {
    expect(files()).to.have.lengthOf(1)
    return linesOf(files()[0] ?? '')
  }
  const bodies = () => server.requests.map(({ body }) => JSON.parse(body))

  for (const flags of [[], ['--json'], ['--stream'], ['--stream', '--json'], ['-q']])
    it(`as a turn of a session, readable only by its owner: ${flags.join(' ') || 'in a pipe'}`, async () => {
      const env = await serve(reply)
      expect(await runChatctl(sandbox, ['chat', 'send', 'Hi', ...flags], { env })).to.include({ exitCode: 0 })
      const lines = only()
      const found = lines.map(({ type }) => type).filter((type) => type !== 'delta')
      expect(found).to.deep.equal('session options user start end'.split(' '))
      expect(lines[2]).to.include({ turn: 1, text: 'Hi' })
      const text = lines.filter(({ type }) => type === 'delta').map((line) => line.text)
      expect(text.join('')).to.equal('Hello')
      expect(lines.at(-1)).to.include({ complete: true, context_id: 'c1' })
      if (process.platform === 'win32') return
      expect(statSync(join(directory(), files()[0] ?? '')).mode & 0o777).to.equal(0o600)
      expect(statSync(directory()).mode & 0o777).to.equal(0o700)
    })

  it('with the prompt before the request is sent', async () => {
    let before: string[] = []
    const env = await serve((...given) => {
      before = only().map(({ type }) => type)
      return reply(...given)
    })
    await runChatctl(sandbox, ['chat', 'send', 'Hi'], { env })
    expect(before).to.deep.equal(['session', 'options', 'user'])
  })

  it('with the error of a refused request', async () => {
    const env = await serve(json(403, { error: { code: 'forbidden', message: 'No chat for you' } }))
    expectFailure(await runChatctl(sandbox, ['chat', 'send', 'Hi'], { env }), 5)
    expect(only().at(-1)).to.deep.include({ type: 'end', complete: false })
    expect(only().at(-1).error).to.include({ code: 'forbidden' })
  })

  it('with the part of a truncated reply that arrived', async () => {
    const env = await serve(sse([{ context_id: 'c1', delta: 'Hel' }], { done: false, ending: 'reset' }))
    expect((await runChatctl(sandbox, ['chat', 'send', 'Hi'], { env })).exitCode).to.equal(69)
    const lines = only()
    expect(lines.find(({ type }) => type === 'delta')).to.include({ text: 'Hel' })
    expect(lines.at(-1)).to.include({ complete: false })
    expect(lines.at(-1).reason).to.be.a('string')
    expect(lines.at(-1).error).to.equal(undefined)
  })

  for (const [what, body] of [
    ['a frame that is not JSON', 'data: <html>502</html>\n\n'],
    ['invalid UTF-8', Buffer.from('data: {"delta":"\xe9"}\n\n', 'latin1')],
  ] as const)
    it(`with the text around ${what}, which makes the reply incomplete`, async () => {
      const frame = (delta: string) => `data: ${JSON.stringify({ delta })}\n\n`
      const parts = [frame('Hel'), body, frame('lo'), 'data: [DONE]\n\n']
      for (const flags of [[], ['--stream']]) {
        const env = await serve(stream([...parts], { type: 'text/event-stream' }))
        const run = await runChatctl(sandbox, ['chat', 'send', 'Hi', ...flags], { env })
        expect(run.exitCode).to.equal(69)
        expect(run.stderr).to.match(/unreadable frame|not valid UTF-8/)
        const text = linesOf(files().at(-1) ?? '').filter(({ type }) => type === 'delta')
        expect(text.map((line) => line.text).join('')).to.match(/^Hel\ufffd?lo$/)
      }
    })

  it('as interrupted after Ctrl-C', async () => {
    const env = await serve(silent)
    const running = startChatctl(sandbox, ['chat', 'send', 'Hi'], { env })
    running.stdin.end()
    await until(() => server.requests.length === 1)
    running.interrupt()
    expect((await running.ended).exitCode).to.equal(130)
    expect(only().at(-1)).to.deep.include({ type: 'end', complete: false, interrupted: true })
  })

  it('as interrupted if the process ends while the reply arrives, as when its reader closes stdout', async () => {
    const env = await serve(sse([{ context_id: 'c1', delta: 'Hel' }], { done: false, ending: 'stalled' }))
    const cleanups: ((exitCode: number) => void)[] = []
    const onExit = (cleanup: (exitCode: number) => void) => {
      cleanups.push(cleanup)
      return () => {}
    }
    const running = startChatctl(sandbox, ['chat', 'send', 'Hi', '--stream'], { env, host: { onExit } })
    running.stdin.end()
    await until(() => running.written().stdout === 'Hel')
    for (const cleanup of cleanups) cleanup(0)
    expect(only().at(-1)).to.deep.include({ type: 'end', complete: false, interrupted: true })
    expect(readdirSync(directory())).to.deep.equal(files())
    running.interrupt()
    await running.ended
    expect(only().filter(({ type }) => type === 'end')).to.have.lengthOf(1)
  })

  it('with the options once per message', async () => {
    const env = await serve(reply)
    await runChatctl(sandbox, ['chat', 'send', 'one'], { env })
    await runChatctl(sandbox, ['chat', 'rename', files()[0]?.slice(0, -6) ?? '', 'trip'])
    await runChatctl(sandbox, ['chat', 'send', '-c', 'two', '-m', 'large'], { env })
    expect(only().map(({ type }) => type)).to.deep.equal([
      ...['session', 'options', 'user', 'start', 'delta', 'delta', 'end', 'name'],
      ...['options', 'user', 'start', 'delta', 'delta', 'end'],
    ])
    expect(only()[8]).to.include({ context_id: 'c1', model: 'large' })
  })

  it('in one transcript per conversation', async () => {
    const env = await serve(reply)
    const send = (...args: string[]) => runChatctl(sandbox, ['chat', 'send', ...args], { env })
    await send('one')
    await send('-c', 'two')
    await send('--context', 'c1', 'three')
    const turns = only().filter(({ type }) => type === 'user')
    expect(turns.map(({ turn, text }) => `${turn} ${text}`)).to.deep.equal(['1 one', '2 two', '3 three'])
    await send('elsewhere')
    expect(files()).to.have.lengthOf(2)
  })

  for (const [how, args, variables] of [
    ['with --no-save', ['--no-save'], {}],
    ['with CHATCTL_SAVE=off', [], { CHATCTL_SAVE: 'off' }],
    ['with --dry-run', ['--dry-run'], {}],
  ] as [string, string[], NodeJS.ProcessEnv][])
    it(`not ${how}`, async () => {
      const env = { ...(await serve(reply)), ...variables }
      expect((await runChatctl(sandbox, ['chat', 'send', 'Hi', ...args], { env })).exitCode).to.equal(0)
      expect(
        (await runChatctl(sandbox, ['chat', 'send', 'Hi', '--context', 'c1', ...args], { env })).exitCode,
      ).to.equal(0)
      expect(files()).to.deep.equal([])
    })

  it('not if the profile has save=off', async () => {
    const set = await runChatctl(sandbox, ['config', 'set', 'save', 'off', '-p', 'local'])
    expect(set.exitCode, set.stderr).to.equal(0)
    await runChatctl(sandbox, ['chat', 'send', 'Hi'])
    expect(files()).to.deep.equal([])
    const bad = await runChatctl(sandbox, ['config', 'set', 'save', 'maybe', '-p', 'local'])
    expectFailure(bad, 2, 'save: "maybe" is neither on nor off')
  })

  it('or warns if it cannot, and prints the reply', async () => {
    mkdirSync(join(directory(), '..'), { recursive: true })
    writeFileSync(directory(), 'in the way')
    const env = await serve(reply)
    const run = await runChatctl(sandbox, ['chat', 'send', 'Hi'], { env })
    expect(run).to.include({ exitCode: 0, stdout: 'Hello\n' })
    expect(run.stderr).to.match(/^Warning: This machine does not record the message and its reply: /)
    const continued = await runChatctl(sandbox, ['chat', 'send', 'Hi', '--context', 'c1'], { env })
    expect(continued).to.include({ exitCode: 0, stdout: 'Hello\n' })
    expect(continued.stderr.match(/Warning/g)).to.have.lengthOf(1)
  })

  describe('with --system', () => {
    it('requests a completion, and prints its text', async () => {
      const env = await serve(completion)
      const run = await runChatctl(sandbox, ['chat', 'send', 'Hi', '--system', 'Be brief'], { env })
      expect(run).to.include({ exitCode: 0, stdout: 'Brief.\n', stderr: '' })
      expect(server.requests.map(({ path }) => path)).to.deep.equal(['/v1/chat/completions'])
      expect(bodies()[0].messages).to.deep.equal([
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Hi' },
      ])
      expect(only()[1]).to.include({ type: 'options', mode: 'completions', system: 'Be brief' })
      expect(only().at(-1)).to.include({ complete: true, finish_reason: 'stop' })
    })

    it('is continued with all messages and the system message', async () => {
      const env = await serve(completion)
      await runChatctl(sandbox, ['chat', 'send', 'Hi', '--system', 'Be brief'], { env })
      await runChatctl(sandbox, ['chat', 'send', '--continue', 'More'], { env })
      await runChatctl(sandbox, ['chat', 'send', '--continue', 'Most', '--system', 'Be long'], { env })
      const contents = bodies().map(({ messages }) => messages.map((one: { content: string }) => one.content))
      expect(contents).to.deep.equal([
        ['Be brief', 'Hi'],
        ['Be brief', 'Hi', 'Brief.', 'More'],
        ['Be long', 'Hi', 'Brief.', 'More', 'Brief.', 'Most'],
      ])
      expect(only().filter(({ type }) => type === 'user')).to.have.lengthOf(3)
    })

    it('is also requested by --continue after a reply that names no conversation', async () => {
      const unnamed = sse([{ id: 'm1', delta: 'Hello' }], { done: true })
      const env = await serve([unnamed, completion])
      await runChatctl(sandbox, ['chat', 'send', 'Hi'], { env })
      const run = await runChatctl(sandbox, ['chat', 'send', '--continue', 'More'], { env })
      expect(run).to.include({ exitCode: 0, stdout: 'Brief.\n' })
      const found = bodies()[1].messages.map((one: { content: string }) => one.content)
      expect(found).to.deep.equal([...['Hi', 'Hello', 'More']])
      expect(files()).to.have.lengthOf(1)
    })

    it('is not the last conversation after another message', async () => {
      const isSend = (path: string) => path === '/api/chat/send'
      const env = await serve({ choose: ({ path }) => (isSend(path) ? reply : completion) })
      await runChatctl(sandbox, ['chat', 'send', 'Hi', '--system', 'x'], { env })
      await runChatctl(sandbox, ['chat', 'send', 'elsewhere'], { env })
      await runChatctl(sandbox, ['chat', 'send', '--continue', 'more'], { env })
      expect(bodies().at(-1)).to.include({ message: 'more', context_id: 'c1' })
    })

    it('sends the earlier messages of a conversation', async () => {
      const messages = [
        { id: '1', role: 'user', content: 'Before', created_at: '2026-01-01T00:00:00Z' },
        { id: '2', role: 'assistant', content: 'Then', created_at: '2026-01-01T00:00:01Z' },
      ]
      const history = json(200, { messages, has_more: false })
      const env = await serve({ choose: ({ method }) => (method === 'GET' ? history : completion) })
      const args = ['chat', 'send', 'Now', '--system', 'x', '--context', 'c1']
      expect((await runChatctl(sandbox, args, { env })).exitCode).to.equal(0)
      const found = JSON.parse(server.requests.at(-1)?.body ?? '').messages.map(
        ({ content }: { content: string }) => content,
      )
      expect(found).to.deep.equal('x Before Then Now'.split(' '))
    })

    it('names the flags to omit if the service has no completions, but not if it lacks the model', async () => {
      const args = ['chat', 'send', 'Hi', '--temperature', '0', '--system', 'x']
      for (const stream of ['--stream', '--no-stream']) {
        const env = await serve(json(404, { error: { message: 'Not found' } }))
        const words = ['takes no system message, temperature, or token limit (404, POST http']
        const hint = 'Send the message without --system, --temperature.'
        expectFailure(await runChatctl(sandbox, [...args, stream], { env }), 6, ...words, hint)
      }
      const env = await serve(json(404, { error: { message: 'No model x' } }))
      expectFailure(await runChatctl(sandbox, args, { env }), 6, 'No model x')
    })

    it('sends nothing if the service has no such conversation', async () => {
      const env = await serve(json(200, { messages: [], has_more: false }))
      const args = ['chat', 'send', 'Now', '--system', 'x', '--context', 'c9']
      expectFailure(await runChatctl(sandbox, args, { env }), 6, 'No messages of conversation "c9"')
      expect(server.requests.map(({ method }) => method)).to.deep.equal(['GET'])
    })

    describe('in a stream', () => {
      const args = ['chat', 'send', 'Hi', '--system', 'x', '--stream']
      const note = 'The reply was not streamed: this service does not stream completions.\n'

      it('prints the reply while it arrives, and keeps the part that arrived before Ctrl-C', async () => {
        const env = await serve(sse([{ id: 'm1', delta: 'Hel' }], { ending: 'stalled', done: false }))
        const running = startChatctl(sandbox, args, { env })
        running.stdin.end()
        await until(() => running.written().stdout === 'Hel')
        running.interrupt()
        expect(await running.ended).to.include({ exitCode: 130, stdout: 'Hel\n' })
        const found = only().filter(({ type }) => type === 'delta')
        expect(found).to.deep.equal([{ type: 'delta', turn: 1, text: 'Hel' }])
        expect(only().at(-1)).to.include({ interrupted: true })
        expect(server.requests[0]?.headers.accept).to.include('text/event-stream')
        expect(bodies()[0]).not.to.have.property('stream')
      })

      it('says why if the service sends it in one piece, except with --quiet', async () => {
        const env = await serve(completion)
        const done = { exitCode: 0, stdout: 'Brief.\n' }
        expect(await runChatctl(sandbox, args, { env })).to.deep.equal({ ...done, stderr: note })
        expect(await runChatctl(sandbox, [...args, '-q'], { env })).to.deep.equal({ ...done, stderr: '' })
        expect(await runChatctl(sandbox, args.slice(0, -1), { env })).to.deep.equal({ ...done, stderr: '' })
        const shown = await startChatctl(sandbox, args.slice(0, -1), { env, terminal: { columns: 90 } }).ended
        expect(shown.stdout).to.include(note.trim())
      })
    })

    it('is forgotten with --no-save', async () => {
      const env = await serve(completion)
      await runChatctl(sandbox, ['chat', 'send', 'Hi', '--system', 'x', '--no-save'], { env })
      const next = await runChatctl(sandbox, ['chat', 'send', '--continue', 'more'], { env })
      expectFailure(next, 2, 'no conversation to continue')
    })
  })
})
