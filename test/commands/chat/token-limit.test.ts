import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, sse } from '../../support/scripted-server.ts'
import { serveRuns } from '../../support/served-runs.ts'

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
