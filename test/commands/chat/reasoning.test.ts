import { expect } from 'chai'
import { json, sse } from '../../support/scripted-server.ts'
import { serveRuns } from '../../support/served-runs.ts'

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
