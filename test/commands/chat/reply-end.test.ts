import { expect } from 'chai'
import { someCells } from '../../support/cells.ts'
import { perTest } from '../../support/lifetime.ts'
import { endings, streamOf } from '../../support/reply-endings.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { type Behavior, json, sse, stream } from '../../support/scripted-server.ts'
import { serveRuns } from '../../support/served-runs.ts'

/** The exit code and a part of the message for each end that is not complete. */
const codes: Record<string, [number, string]> = {
  complete: [0, ''],
  truncated: [69, 'final event'],
  failed: [69, ''],
  length: [8, 'token limit'],
  filtered: [8, 'content filter'],
  refusal: [8, 'refused'],
  tool_calls: [8, 'called tools'],
  empty: [8, ''],
}

describe('a reply of another service', () => {
  const served = serveRuns()

  it('is on stdout with the exit code and the error of its end', async () => {
    const all = Object.entries(endings)
    const isFirst = ([, { end }]: (typeof all)[number], at: number) =>
      all.findIndex(([, other]) => other.end === end) === at
    for (const [name, ending] of someCells(
      all,
      (cell, at) => isFirst(cell, at) || cell[0].includes('unknown'),
    )) {
      const { text, end, tools, words = '', whole } = ending
      const [code, message] = codes[end] ?? []
      const streamed = stream([streamOf(ending)], { type: 'text/event-stream' })
      const runs: [string[], Behavior][] = [
        [['send'], streamed],
        [['send', '--json'], streamed],
        [['send', '--stream', '--json'], streamed],
      ]
      if (whole) runs.push([['complete', '--json'], json(200, whole)])
      for (const [argv, behavior] of runs) {
        const { exitCode, stdout, stderr } = await served.run(['chat', ...argv, 'Hi'], behavior)
        const what = `${name}: ${argv.join(' ')}`
        expect(exitCode, `${what} ${stderr}`).to.equal(code)
        if (code !== 69)
          expect(stdout, what).to.include(argv.length > 1 && text ? JSON.stringify(text).slice(1, -1) : text)
        if (argv.includes('--stream'))
          expect(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '').end, what).to.equal(end)
        if (argv.length === 1 && code !== 69) {
          const shown = await served.run(['chat', 'show', '--last', '-o', 'json'])
          expect(JSON.parse(shown.stdout).turns.at(-1).end, what).to.equal(end)
          const status = (await served.run(['chat', 'show', '--last'])).stdout.includes('\n[')
          expect(status, what).to.equal(end !== 'complete' || name.includes('unknown'))
        }
        for (const part of [message, words, ...(tools ?? [])]) expect(stderr, what).to.include(part)
        const last = stderr.trimEnd().split('\n').at(-1) ?? ''
        if (code === 8 && argv.includes('--json')) expect(JSON.parse(last).error.code, what).to.equal(end)
        else if (code === 0)
          expect(stderr.includes('full moon'), what).to.equal(name === 'a reason that is unknown')
      }
    }
  })

  it('that is a refusal is not requested again by --schema', async () => {
    const { exitCode, stdout, stderr } = await served.run(
      ['chat', 'send', 'Hi', '--schema', '{"type":"object"}', '--no-save'],
      stream([streamOf(endings['a refusal'] ?? { chunks: [], text: '', end: 'empty' })], {
        type: 'text/event-stream',
      }),
    )
    expect([exitCode, stdout, served.server.requests.length]).to.deep.equal([8, '', 1])
    expect(stderr).to.include('I can’t do that.').and.include('The model refused to reply')
  })
})

const truncated = 'The reply stopped at the token limit'

describe('a reply that reaches its token limit', () => {
  describe('from the embedded service', () => {
    const sandbox = perTest(createSandbox)
    const run = (...words: string[]) => runChatctl(sandbox, words)
    beforeEach(async () => {
      const { exitCode, stderr } = await run('settings', 'set', 'limits.max_tokens=3', '--profile', 'local')
      expect(exitCode, stderr).to.equal(0)
    })

    for (const flags of [[], ['--stream'], ['--no-stream'], ['--system', 'Be brief']])
      it(`is printed, and exits with code 8: chat send ${flags.join(' ')}`, async () => {
        const sent = await run('chat', 'send', 'Hi', ...flags)
        expect(sent.exitCode).to.equal(8)
        expect(sent.stderr).to.include(
          `Error: ${truncated}\nHint:  Continue it with: chatctl chat send --continue Continue\n`,
        )
        expect(sent.stdout.trimEnd()).to.equal("This is chatctl's")
        const [id = ''] = (await run('chat', 'sessions', '--fields', 'id')).stdout.split('\n')
        expect((await run('chat', 'show', id)).stdout).to.include('\n[stopped at the token limit]\n')
        expect((await run('chat', 'send', '--continue', 'Continue')).exitCode).to.equal(8)
      })

    it('has its finish reason in JSON, streamed or not', async () => {
      for (const flags of [[], ['--no-stream']]) {
        const { stdout, stderr } = await run('chat', 'send', 'Hi', '--json', ...flags)
        expect(JSON.parse(stdout)).to.include({
          finish_reason: 'length',
          end: 'length',
          model: 'test-program',
        })
        expect(JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').error.code).to.equal('length')
        const one = await run('chat', 'send', 'Hi', '--fields', 'finish_reason', ...flags)
        expect(one.stdout).to.equal('length\n')
      }
    })

    it('is not continued by a command if nothing was recorded', async () => {
      const { stderr } = await run('chat', 'send', 'Hi', '--system', 'Be brief', '--no-save')
      expect(stderr).to.include('Raise limits.max_tokens')
    })

    it('that the command set itself is no error', async () => {
      for (const words of [['send'], ['send', '--stream'], ['complete']]) {
        const { exitCode, stderr } = await run('chat', ...words, 'Hi', '--max-tokens', '2')
        expect([exitCode, stderr.includes(`${truncated}.`)], stderr).to.deep.equal([0, true])
      }
      expect((await run('chat', 'send', '--continue', 'Hi')).exitCode).to.equal(0)
    })
  })

  describe('from another service', () => {
    const served = serveRuns()
    const frames = (reason: object) => [{ context_id: 'c1', delta: 'Hello' }, reason]
    const choices = [
      { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'max_tokens' },
    ]

    for (const [what, words, script] of [
      ['a finish_reason', ['chat', 'send', 'Hi'], sse(frames({ finish_reason: 'length' }))],
      [
        'a stop_reason',
        ['chat', 'send', 'Hi', '--stream'],
        sse(frames({ delta: { stop_reason: 'max_tokens' } })),
      ],
      ['a finish reason of another name', ['chat', 'complete', 'Hi'], json(200, { choices })],
    ] as const)
      it(`is recognized by ${what}`, async () => {
        const { exitCode, stdout, stderr } = await served.run(words, script)
        expect({ exitCode, stdout }).to.deep.equal({ exitCode: 8, stdout: 'Hello\n' })
        expect(stderr).to.include(truncated)
      })

    it('is no error only if the command has set the limit that was reached', async () => {
      const message = { role: 'assistant', content: 'Hello' }
      for (const [tokens, code] of [
        [9, 8],
        [10, 0],
        [0, 0],
        [undefined, 0],
      ]) {
        const usage = { completion_tokens: tokens }
        const body = { choices: [{ message, finish_reason: 'length' }], usage }
        for (const words of [['complete'], ['send', '--no-save']]) {
          const run = await served.run(['chat', ...words, 'Hi', '--max-tokens', '10'], json(200, body))
          expect(run.exitCode, run.stderr).to.equal(code)
          if (code === 8)
            expect(run.stderr).to.include('Raise limits.max_tokens in the settings of the service.')
        }
      }
    })

    it('is not mentioned if the reply ended by itself', async () => {
      const { stderr } = await served.run(['chat', 'send', 'Hi'], sse(frames({ finish_reason: 'stop' })))
      expect(stderr).to.equal('')
    })
  })
})

describe('the reasoning of a model, in a pipe,', () => {
  const served = serveRuns()
  const frames = [{ context_id: 'c1', reasoning: 'Hm' }, { delta: 'Hello' }]

  it('is not on stdout or stderr of chat send', async () => {
    expect(await served.run(['chat', 'send', 'Hi'], sse(frames))).to.deep.include({
      exitCode: 0,
      stdout: 'Hello\n',
      stderr: '',
    })
    expect((await served.run(['chat', 'send', 'Hi', '--stream'], sse(frames))).stdout).to.equal('Hello\n')
  })

  it('is an event of chat send --stream --json', async () => {
    const { stdout } = await served.run(['chat', 'send', 'Hi', '--stream', '--json'], sse(frames))
    expect(stdout.split('\n').slice(1, 3)).to.deep.equal([
      '{"v":1,"type":"reasoning","text":"Hm"}',
      '{"v":1,"type":"delta","text":"Hello"}',
    ])
  })

  for (const [title, words] of [
    ['a stream', []],
    ['a stream that is printed while it arrives', ['--stream']],
  ] as const)
    it(`is not the reply of chat send in ${title}, which says that the reply is empty`, async () => {
      const { exitCode, stderr } = await served.run(['chat', 'send', 'Hi', ...words], sse(frames.slice(0, 1)))
      expect(exitCode).to.equal(8)
      expect(stderr).to.match(/^Error: The model sent only reasoning, and no reply\nHint: /)
      const quiet = await served.run(['chat', 'send', 'Hi', '-q', ...words], sse(frames.slice(0, 1)))
      expect(quiet.stderr).to.equal(stderr)
    })

  it('is not the reply of chat send --system, which says that the reply is empty', async () => {
    const body = { choices: [{ index: 0, message: { role: 'assistant', content: '', reasoning: 'Hm' } }] }
    const words = ['chat', 'send', 'Hi', '--system', 'Be brief']
    expect((await served.run(words, json(200, body))).stderr).to.include('only reasoning')
    const again = await served.run(['chat', 'send', '--continue', 'Continue'], json(200, body))
    expect(JSON.parse(again.requests.at(-1)?.body ?? '').messages.at(-1).content).to.equal('Hi\n\nContinue')
  })

  it('is not mentioned for an empty reply without reasoning', async () => {
    const body = { id: 'm1', response: '', context_id: 'c1', created_at: '2026-01-01T00:00:00Z' }
    const { stderr } = await served.run(['chat', 'send', 'Hi', '--no-stream'], json(200, body))
    expect(stderr).to.match(/^Error: The reply is empty\n/)
  })

  it('is not the reply of chat complete, which says that the reply is empty', async () => {
    const message = { role: 'assistant', content: null, reasoning_content: 'Hm' }
    const choices = [{ index: 0, message, finish_reason: 'length' }]
    const { exitCode, stdout, stderr } = await served.run(['chat', 'complete', 'Hi'], json(200, { choices }))
    expect(exitCode).to.equal(8)
    expect(stdout.trim()).to.equal('')
    expect(stderr).to.include('The model sent only reasoning, and no reply\n').and.include('token limit')
    const whole = await served.run(['chat', 'complete', 'Hi', '--json'], json(200, { choices }))
    expect(JSON.parse(whole.stdout).choices).to.deep.equal(choices)
  })
})
