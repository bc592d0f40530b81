import { expect } from 'chai'
import { json, sse } from '../../support/fault-server.ts'
import { serveRuns } from '../../support/served-runs.ts'

describe('the reasoning of a model, in a pipe,', () => {
  const served = serveRuns()
  const frames = [{ context_id: 'c1', reasoning: 'Hm' }, { delta: 'Hello' }]

  it('is not on stdout or stderr of chat send', async () => {
    expect(await served.run(['chat', 'send', 'Hi'], sse(frames))).to.deep.equal({
      exitCode: 0,
      stdout: 'Hello\n',
      stderr: '',
    })
    const { stdout } = await served.run(['chat', 'send', 'Hi', '--stream'], sse(frames))
    expect(stdout).to.equal('Hello\n')
  })

  it('is an event of chat send --stream --json', async () => {
    const { stdout } = await served.run(['chat', 'send', 'Hi', '--stream', '--json'], sse(frames))
    expect(stdout.split('\n').slice(1, 3)).to.deep.equal([
      '{"v":1,"type":"reasoning","text":"Hm"}',
      '{"v":1,"type":"delta","text":"Hello"}',
    ])
  })

  it('is not the reply of chat send, which says that the reply is empty', async () => {
    const only = sse([{ context_id: 'c1', reasoning: 'Hm' }, { done: true }])
    const expected = { exitCode: 0, stdout: '\n', stderr: 'The model sent only reasoning, and no reply.\n' }
    expect(await served.run(['chat', 'send', 'Hi'], only)).to.deep.equal(expected)
    expect(await served.run(['chat', 'send', 'Hi', '--stream'], only)).to.deep.equal(expected)
  })

  it('is not the reply of chat complete, which says that the reply is empty', async () => {
    const message = { role: 'assistant', content: null, reasoning_content: 'Hm' }
    const choices = [{ index: 0, message, finish_reason: 'length' }]
    const { exitCode, stdout, stderr } = await served.run(['chat', 'complete', 'Hi'], json(200, { choices }))
    expect(exitCode).to.equal(0)
    expect(stdout.trim()).to.equal('')
    expect(stderr).to.include('The model sent only reasoning, and no reply.').and.include('token limit')
    const whole = await served.run(['chat', 'complete', 'Hi', '--json'], json(200, { choices }))
    expect(JSON.parse(whole.stdout).choices).to.deep.equal(choices)
  })
})
