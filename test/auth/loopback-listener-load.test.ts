import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { state, type TemporaryListener, withListener } from './temporary-listener.ts'

const right = `/callback?code=c0de&state=${state}`

/** How long, in ms, the browser takes from its request to its page. */
async function signIn({ listener, visit }: TemporaryListener): Promise<number> {
  const begun = performance.now()
  const page = visit(right)
  expect((await listener.outcome).kind).to.equal('granted')
  await listener.answer(true)
  expect((await page).body).to.contain('<h1>Signed in</h1>')
  return performance.now() - begun
}

describe('the listener for the browser, among those who mean it no good', () => {
  it('answers at once among 2,000 bad requests', () =>
    withListener(async (temporary) => {
      const bad = Array.from({ length: 2000 }, (_, index) =>
        temporary.visit(`/callback?code=${index}&state=guess${index}`).then(({ status }) => status),
      )
      const took = await signIn(temporary)
      expect(new Set(await Promise.all(bad))).to.deep.equal(new Set([400]))
      expect(took).to.be.below(15_000)
    }))

  it('answers at once beside 400 idle connections and 100 slow ones, and cuts those in the end', () =>
    withListener(async (temporary) => {
      const { host, open, listener, visit } = temporary
      const idle = await Promise.all(Array.from({ length: 400 }, open))
      const slow = await Promise.all(Array.from({ length: 100 }, open))
      const ends = [...idle, ...slow].map((socket) => once(socket, 'close'))
      // What is written when it has just been cut.
      for (const socket of slow) socket.on('error', () => {})
      for (const socket of slow) socket.write(`GET ${right} HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `)
      const drip = setInterval(() => {
        for (const socket of slow) socket.write('a')
      }, 100)
      try {
        const begun = performance.now()
        const page = visit(right)
        await listener.outcome
        expect(performance.now() - begun).to.be.below(1000)
        // The browser that waits is not cut with them, however long the rest of signing in takes.
        await Promise.all(ends)
        expect(performance.now() - begun).to.be.within(3000, 8000)
        await listener.answer(true)
        expect((await page).body).to.contain('<h1>Signed in</h1>')
      } finally {
        clearInterval(drip)
      }
    }))

  it('outlives what is not HTTP, what is too long, and what breaks off', () =>
    withListener(async (temporary) => {
      const { host, open } = temporary
      const head = `GET ${right} HTTP/1.1\r\nHost: ${host}\r\n`
      const sent = [
        '\u0016\u0003\u0001\u0002\u0000\u0001\u0000',
        'GET\r\n\r\n',
        `GET ${right} HTTP/9.9\r\n\r\n`,
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
        `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
        `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
        `${head}X-Long: ${'x'.repeat(100_000)}\r\n\r\n`,
        `GET /?${'x'.repeat(1_000_000)} HTTP/1.1\r\n`,
      ]
      for (const bytes of sent) {
        const socket = await open()
        socket.write(bytes)
        await once(socket, 'close')
      }
      for (const bytes of ['', 'GET', head]) {
        const socket = await open()
        socket.write(bytes)
        await sleep(5)
        socket.resetAndDestroy()
      }
      // Asks, and never reads what it is told.
      const deaf = await Promise.all(Array.from({ length: 50 }, open))
      for (const socket of deaf) socket.pause().write(`GET /callback HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      expect(await signIn(temporary)).to.be.below(1000)
    }))

  it('takes the answer of a browser with many cookies of its neighbours', () =>
    withListener(async ({ listener, visit }) => {
      const page = visit(right, { headers: { cookie: `a=${'x'.repeat(30_000)}` } })
      expect((await listener.outcome).kind).to.equal('granted')
      await listener.answer(true)
      expect((await page).status).to.equal(200)
    }))
})
