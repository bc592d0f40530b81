import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { startBuilt } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { until } from '../../support/until.ts'

describe('a service whose log is not read', () => {
  const sandbox = perTest(createSandbox)

  // systemd connects a service with a socket, a shell and a container with a pipe.
  for (const kind of ['socket', 'pipe'] as const) {
    it(`responds, says later what it dropped, and stops, with a ${kind}`, async () => {
      const pipe = join(sandbox.home, 'log')
      execFileSync('mkfifo', [pipe])
      const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
      const words = ['service', 'run', '--port', '0', '--admin-port', 'off', '--json', '--log-level', 'info']
      const shell = ['/bin/sh', '-c', `exec "$0" "$@" ${kind === 'pipe' ? `2> ${pipe}` : ''}`] as const
      const child = startBuilt(sandbox, [process.execPath, 'bin/run.js', ...words], {
        program: [...shell],
        cwd: process.cwd(),
      })
      const log = kind === 'pipe' ? new Socket({ fd: reader, writable: false }) : (child.stderr as Readable)
      const ended = once(child, 'exit')
      const [started] = await once(child.stdout as Readable, 'data')
      const { url } = JSON.parse(String(started))
      const fill = async () => {
        for (let sent = 0; sent < 500; sent++) {
          const response = await fetch(`${url}/v1/${'x'.repeat(4000)}`)
          expect(response.status).to.equal(401)
          await response.text()
        }
      }
      await fill()
      let lines = ''
      log.on('data', (chunk) => {
        lines += chunk
      })
      await until(() => lines.includes('lines of this log were dropped'))
      expect(lines).to.match(/"dropped":[1-9]\d*,/)
      log.removeAllListeners('data').pause()
      await fill()
      child.kill('SIGTERM')
      expect((await ended)[0]).to.equal(0)
      log.destroy()
    })
  }
})
