import { spawnSync } from 'node:child_process'
import { expect } from 'chai'
import { createMetrics } from '../../../src/service/metrics/create-metrics.ts'

describe('promtool check metrics', () => {
  it('accepts the metrics of the embedded service', async () => {
    const metrics = createMetrics('1.2.3')
    metrics.beginRequest()
    metrics.endRequest({ endpoint: 'sendMessage', method: 'POST', status: 200, seconds: 0.1 })
    metrics.countLimiterDecision('admitted')
    metrics.countError('invalid_request')
    metrics.observeModelServer('stream', 'ok', 0.2)
    metrics.observeFirstPart(0.1)
    metrics.countTokens(1, 2)
    const { text } = await metrics.write()
    const { status, stdout, stderr, error } = spawnSync('promtool', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    })
    expect(error).to.equal(undefined)
    expect(stdout + stderr).to.equal('')
    expect(status).to.equal(0)
  })
})
