import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, sse } from '../../support/scripted-server.ts'
import { serveRuns } from '../../support/served-runs.ts'

const truncated = 'The reply stopped at the token limit.'

describe('a reply that reaches its token limit', () => {
  describe('from the embedded service', () => {
    const sandbox = perTest(createSandbox)
    const run = (...words: string[]) => runChatctl(sandbox, words)
    beforeEach(async () => {
      const { exitCode, stderr } = await run('settings', 'set', 'limits.max_tokens=3', '--profile', 'local')
      expect(exitCode, stderr).to.equal(0)
    })

    for (const flags of [[], ['--stream'], ['--no-stream'], ['--system', 'Be brief']])
      it(`is complete, and a message says so: chat send ${flags.join(' ')}`, async () => {
        const sent = await run('chat', 'send', 'Hi', ...flags)
        expect(sent.exitCode).to.equal(0)
        expect(sent.stderr).to.include(
          `${truncated} Continue it with: chatctl chat send --continue Continue\n`,
        )
        expect(sent.stdout.trimEnd()).to.equal("This is chatctl's")
        const [id = ''] = (await run('chat', 'sessions', '--fields', 'id')).stdout.split('\n')
        expect((await run('chat', 'show', id)).stdout).to.include('\n[stopped at the token limit]\n')
        expect((await run('chat', 'send', '--continue', 'Continue')).exitCode).to.equal(0)
      })

    it('has its finish reason in JSON, streamed or not', async () => {
      for (const flags of [[], ['--no-stream']]) {
        const { stdout } = await run('chat', 'send', 'Hi', '--json', ...flags)
        expect(JSON.parse(stdout).finish_reason).to.equal('length')
        const one = await run('chat', 'send', 'Hi', '--fields', 'finish_reason', ...flags)
        expect(one.stdout).to.equal('length\n')
      }
    })

    it('is not continued by a command if nothing was recorded', async () => {
      const { stderr } = await run('chat', 'send', 'Hi', '--system', 'Be brief', '--no-save')
      expect(stderr).to.include(`${truncated}\n`)
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
        expect({ exitCode, stdout }).to.deep.equal({ exitCode: 0, stdout: 'Hello\n' })
        expect(stderr).to.include(truncated)
      })

    it('is not mentioned if the reply ended by itself', async () => {
      const { stderr } = await served.run(['chat', 'send', 'Hi'], sse(frames({ finish_reason: 'stop' })))
      expect(stderr).to.equal('')
    })
  })
})
