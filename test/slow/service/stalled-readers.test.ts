import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import type { ReplySource } from '../../../src/service/replies/reply-source.ts'
import { createTestProgram } from '../../../src/service/replies/test-program.ts'
import { withServer } from '../../service/start-server.ts'
import type { Answer } from '../../service/temporary-service.ts'

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

describe('a client that stops reading', () => {
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
      for (let tries = 0; tries < 300 && !replySource.ended; tries++) await pause(50)
      expect(replySource.ended).to.equal(true)
      let history: Answer | undefined
      for (let tries = 0; tries < 50 && !history?.body.messages.length; tries++) {
        history = await call('GET', '/api/chat/history')
        await pause(20)
      }
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
      for (let tries = 0; tries < 100 && !replySource.ended; tries++) await pause(20)
      expect(replySource.ended).to.equal(true)
    })
  })
})
