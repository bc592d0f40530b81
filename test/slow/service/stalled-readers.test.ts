import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { constants, openSync } from 'node:fs'
import { connect, Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import type { ReplySource } from '../../../src/service/replies/reply-source.ts'
import { createTestProgram } from '../../../src/service/replies/test-program.ts'
import { withServer } from '../../service/start-server.ts'
import type { Answer } from '../../service/temporary-service.ts'
import { perTest } from '../../support/lifetime.ts'
import { collectOutput, startBuilt } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'
import { until } from '../../support/until.ts'

/**
 * A model that never stops. It counts the pieces that were taken from it, and records whether it was ended.
 */
function createEndless(): ReplySource & { taken: number; ended: boolean } {
  const endless = {
    ...createTestProgram(),
    taken: 0,
    ended: false,
    async *stream() {
      try {
        for (;;) {
          endless.taken++
          yield { kind: 'delta' as const, text: 'x'.repeat(8_192), model: 'm' }
          await new Promise((resolve) => setImmediate(resolve))
        }
      } finally {
        endless.ended = true
      }
    },
  }
  return endless
}

const send = (key: string, body: object) => {
  const text = JSON.stringify(body)
  return (
    `POST /api/chat/send HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  )
}

describeSample('a client that stops reading', 1, () => {
  it('pauses the model, is disconnected later, and leaves an incomplete reply', () => {
    const replySource = createEndless()
    return withServer({ replySource, stallTimeout: 3_000 }, async ({ url, key, call }) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.on('error', () => {})
      socket.write(send(key, { message: 'x', model: 'm', stream: true }))
      await new Promise((resolve) => socket.once('data', resolve))
      socket.pause()
      // The system buffers some data at both ends, and the service a piece or two.
      let taken = -1
      while (replySource.taken !== taken) {
        taken = replySource.taken
        await pause(500)
      }
      expect(replySource.ended).to.equal(false)
      await until(() => replySource.ended, 15_000)
      let history: Answer | undefined
      await until(async () => {
        history = await call('GET', '/api/chat/history')
        return history.body.messages.length > 0
      })
      // If a reply is as long as a page may be, its message is on the page before.
      const answer = history?.body.messages.at(-1)
      expect(answer.incomplete).to.equal(true)
      expect(answer.content.length).to.be.within(8_192, replySource.taken * 8_192)
      socket.destroy()
    })
  })

  it('is not confused with a client that reads slowly', () => {
    const replySource = createEndless()
    return withServer({ replySource, stallTimeout: 400 }, async ({ url, key }) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      let closed = false
      socket.on('close', () => {
        closed = true
      })
      socket.on('error', () => {})
      socket.write(send(key, { message: 'x', model: 'm', stream: true }))
      await new Promise((resolve) => socket.once('readable', resolve))
      for (let round = 0; round < 15; round++) {
        await pause(100)
        // Much less than is available, but enough for the system to pass on some more.
        for (let size = 0; size < 4_000_000; ) {
          const chunk = socket.read()
          if (chunk === null) break
          size += chunk.length
        }
      }
      expect(closed).to.equal(false)
      socket.destroy()
      await until(() => replySource.ended)
    })
  })
})

describeSample('a service whose log is not read', 1, () => {
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

describe('a service without free file descriptors', () => {
  const sandbox = perTest(createSandbox)

  it('logs it once each time, and responds again when some are free', async () => {
    const shell = ['/bin/sh', '-c', 'ulimit -n 100; exec "$0" "$@"'] as const
    const program = [...shell, process.execPath, 'bin/run.js'] as const
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
