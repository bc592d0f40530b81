import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { startBuilt } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'

describe('when a filter never ends', function () {
  this.timeout(60_000)
  const server = perTest(startScriptedServer)

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`${signal} ends a filter of --jq`, async function () {
      if (process.platform === 'win32') return this.skip()
      const sandbox = createSandbox()
      await server.serve(json(200, {}))
      const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'k' }
      const child = startBuilt(sandbox, ['settings', 'get', '--jq', 'def f: f; f'], { env })
      const closed = once(child, 'close')
      await sleep(2_000)
      expect(child.exitCode).to.equal(null)
      child.kill(signal)
      const timer = setTimeout(() => child.kill('SIGKILL'), 5_000)
      expect(await closed).to.deep.equal([null, signal])
      clearTimeout(timer)
      sandbox.remove()
    })
  }
})
