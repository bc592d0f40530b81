import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { apiErrorCodes } from '../../../src/service/api-error.ts'
import { createMetrics } from '../../../src/service/metrics/create-metrics.ts'
import { withDirectory } from '../../service/temporary-service.ts'

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

describe('an alert with increase()', () => {
  it('reports the first error of each code, because its counter exists at 0', async () => {
    const metrics = createMetrics('1.2.3')
    const read = async (code: string) => {
      const { text } = await metrics.write()
      return new RegExp(`^chatctl_http_errors_total\\{code="${code}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? '_'
    }
    const before = await Promise.all(apiErrorCodes.map(read))
    for (const code of apiErrorCodes) metrics.countError(code)
    const after = await Promise.all(apiErrorCodes.map(read))
    const input_series = apiErrorCodes.map((code, index) => ({
      series: `chatctl_http_errors_total{code="${code}"}`,
      values: `${before[index]} ${after[index]} ${after[index]}`,
    }))
    const exp_alerts = apiErrorCodes.map((code) => ({ exp_labels: { code } }))
    const test = {
      interval: '1m',
      input_series,
      alert_rule_test: [{ eval_time: '2m', alertname: 'Errors', exp_alerts }],
    }
    const rules = [{ alert: 'Errors', expr: 'increase(chatctl_http_errors_total[5m]) > 0' }]
    await withDirectory((directory) => {
      // JSON is YAML.
      writeFileSync(join(directory, 'rules.yml'), JSON.stringify({ groups: [{ name: 'chatctl', rules }] }))
      writeFileSync(join(directory, 'test.yml'), JSON.stringify({ rule_files: ['rules.yml'], tests: [test] }))
      const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'test.yml'], {
        cwd: directory,
        encoding: 'utf8',
      })
      expect(status, stdout + stderr).to.equal(0)
    })
  })
})
