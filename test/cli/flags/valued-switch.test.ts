import { expect } from 'chai'
import { refuseValuedSwitches } from '../../../src/cli/flags/valued-switches.ts'
import { json, startFaultServer } from '../../support/fault-server.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

const flags = {
  json: { type: 'boolean' },
  stream: { type: 'boolean' },
  system: { type: 'option' },
} as const

describe('a Boolean flag with a value', () => {
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() => startFaultServer(json(200, {})))

  it('is rejected, and nothing is sent', async () => {
    const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' }
    for (const args of [
      ['chat', 'send', '--dry-run=false'],
      ['users', 'get', 'u1', '--json=true'],
      ['chat', 'complete', '--no-color='],
    ]) {
      const { exitCode, stdout, stderr } = await runChatctl(sandbox, args, { env, stdin: 'Hello' })
      expect({ exitCode, stdout }, args.join(' ')).to.deep.equal({ exitCode: 2, stdout: '' })
      expect(stderr).to.match(/^Error: --[\w-]+ does not take a value\nHint: {2}/)
    }
    expect(server.requests).to.deep.equal([])
  })

  it('is rejected in its --no- variant', () => {
    expect(() => refuseValuedSwitches(['--no-stream=1'], flags)).to.throw('--no-stream does not take a value')
  })

  it('is accepted as the value of another flag or after --', () => {
    refuseValuedSwitches(['--system', '--json=1', '--system=--json=1', '--', '--json=1'], flags)
    refuseValuedSwitches(['--json', '--unknown=1', 'json=1'], flags)
  })
})
