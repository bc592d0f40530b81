import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { expect } from 'chai'
import { errorBody } from '../../src/contract/resources/error-body.ts'
import { perSuite } from '../support/lifetime.ts'
import { startBuilt } from '../support/run-chatctl.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'

/** The two bundles have separate copies of shared code, so only the built program shows if they work together. */
describe('a model server that cannot be reached', () => {
  const sandbox = perSuite(createSandbox)

  it('causes 502 model_server_unreachable in the built program', async () => {
    const create = ['service', 'keys', 'create', '--name', 'ci', '--data', 'data', '--json']
    const { key } = JSON.parse((await runProgram(sandbox, create)).stdout)
    // Nothing listens on port 9 (discard).
    const args = ['--data', 'data', '--port', '0', '--model-server', 'http://127.0.0.1:9/v1']
    const service = startBuilt(sandbox, ['service', 'run', '--json', '--log-level', 'silent', ...args])
    try {
      const { url } = JSON.parse(await firstLine(service.stdout as Readable))
      const response = await fetch(`${url}/v1/chat/models`, { headers: { authorization: `Bearer ${key}` } })
      expect(response.status).to.equal(502)
      expect(errorBody.parse(await response.json()).error.code).to.equal('model_server_unreachable')
    } finally {
      service.kill()
    }
  })
})

async function firstLine(stream: Readable): Promise<string> {
  for await (const line of createInterface({ input: stream })) return line
  throw new Error('the service ended without a line')
}
