import { type ChildProcess, spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { expect } from 'chai'
import { perSuite } from '../../support/lifetime.ts'
import { binary } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'

describe('when stdin is closed or is /dev/null', () => {
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() =>
    startScriptedServer(json(200, { id: 'm1', response: 'Hi', context_id: 'c1' })),
  )
  let env: NodeJS.ProcessEnv
  before(() => {
    env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'test-key' }
  })

  for (const args of [
    ['chat', 'send', 'Hello'],
    ['users', 'create'],
    ['settings', 'set', 'app_name=-'],
  ]) {
    it(`chatctl ${args.join(' ')} exits with the same code in both cases`, async function () {
      if (process.platform === 'win32') return this.skip()
      const closed = spawn('sh', ['-c', 'exec "$@" <&-', 'sh', process.execPath, binary, ...args], {
        env: { ...sandbox.env, ...env },
        stdio: ['inherit', 'ignore', 'ignore'],
      })
      const device = spawn(process.execPath, [binary, ...args], {
        env: { ...sandbox.env, ...env },
        stdio: [openSync('/dev/null', 'r'), 'ignore', 'ignore'],
      })
      const [one, two] = await Promise.all([endOf(closed), endOf(device)])
      // 7: this service does not apply the change.
      expect(one).to.be.oneOf([0, 2, 3, 7])
      expect(two).to.equal(one)
    })
  }
})

/** The exit code, or null if the process had to be killed. */
async function endOf(child: ChildProcess): Promise<number | null> {
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  return code
}
