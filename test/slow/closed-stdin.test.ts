import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { expect } from 'chai'
import { type FaultServer, json, startFaultServer } from '../support/fault-server.ts'
import { binary } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'

/** What only a process can have: no stdin at all, or a device in its place. */

describe('without a stdin', function () {
  this.timeout(60_000)
  let sandbox: Sandbox
  let server: FaultServer
  before(async function () {
    if (process.platform === 'win32') return this.skip()
    sandbox = createSandbox()
    server = await startFaultServer(json(200, { response: 'Hello yourself' }))
  })
  after(async () => {
    await server?.close()
    sandbox?.remove()
  })

  const start = (command: string, words: readonly string[], stdin: 'inherit' | number): ChildProcess =>
    spawn(command, words, {
      env: { ...sandbox.env, CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' },
      stdio: [stdin, 'ignore', 'ignore'],
    })

  for (const args of [
    ['chat', 'send', 'Hello'],
    ['users', 'create'],
    ['settings', 'set', 'app_name=-'],
  ]) {
    it(`${args.join(' ')} ends with stdin closed, and with /dev/null`, async () => {
      const line = [process.execPath, binary, ...args] as const
      const device = openSync('/dev/null', 'r')
      const children = [
        start('sh', ['-c', 'exec "$@" <&-', 'sh', ...line], 'inherit'),
        start(line[0], line.slice(1), device),
      ]
      const [one, two] = await Promise.all(children.map(endOf))
      closeSync(device)
      // 7: this service takes no change.
      expect(one).to.be.oneOf([0, 2, 3, 7])
      expect(two).to.equal(one)
    })
  }
})

/** The exit code, or null where it had to be killed. */
async function endOf(child: ChildProcess): Promise<number | null> {
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000)
  const [code] = await once(child, 'close')
  clearTimeout(timer)
  return code
}
