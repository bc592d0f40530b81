import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { collectOutput, startBuilt } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { until } from '../../support/until.ts'

describe('a service without free file descriptors', () => {
  const sandbox = perTest(createSandbox)

  it('logs it once each time, and responds again when some are free', async () => {
    const program = [
      '/bin/sh',
      '-c',
      'ulimit -n 100; exec "$0" "$@"',
      process.execPath,
      'bin/run.js',
    ] as const
    const words = ['service', 'run', '--port', '0', '--admin-port', 'off', '--json', '--log-level', 'warn']
    const child = startBuilt(sandbox, words, { program: [...program], cwd: process.cwd() })
    const output = collectOutput(child)
    await once(child.stdout as Readable, 'data')
    const { url } = JSON.parse(output.stdout)
    const reports = () =>
      output.stderr.match(/no file descriptors are left|file descriptors are free again/g)?.length ?? 0
    for (const time of [1, 2]) {
      const sockets = Array.from({ length: 120 }, (): Socket => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1')
        return socket.on('error', () => {})
      })
      await until(() => reports() === 2 * time - 1)
      for (const socket of sockets) socket.destroy()
      await until(async () => {
        const response = await fetch(`${url}/readyz`).catch(() => undefined)
        return response?.status === 200
      })
      await until(() => reports() === 2 * time)
    }
    expect(output.stderr.match(/EMFILE.*no file descriptors are left/g)).to.have.length(2)
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    expect((await ended)[0]).to.equal(0)
  })
})
