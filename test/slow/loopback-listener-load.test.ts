import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { closed, state, type TemporaryListener, withListener } from '../auth/temporary-listener.ts'

const right = `/callback?code=c0de&state=${state}`

async function signIn({ listener, visit }: TemporaryListener): Promise<void> {
  const page = visit(right)
  expect((await listener.outcome).kind).to.equal('granted')
  await listener.respond(true)
  expect((await page).body).to.contain('<h1>Signed in</h1>')
}

describe('the loopback listener of a sign-in', () => {
  it('completes the sign-in among 2,000 invalid requests', () =>
    withListener(async (temporary) => {
      const bad = Array.from({ length: 2000 }, (_, index) =>
        temporary.visit(`/callback?code=${index}&state=guess${index}`).then(({ status }) => status),
      )
      await signIn(temporary)
      expect(new Set(await Promise.all(bad))).to.deep.equal(new Set([400]))
    }))

  it('completes the sign-in with 400 idle and 100 slow connections open, and then closes them', () =>
    withListener(async (temporary) => {
      const { host, listener, visit } = temporary
      const idle = await Promise.all(Array.from({ length: 400 }, temporary.open))
      const slow = await Promise.all(Array.from({ length: 100 }, temporary.open))
      let open = 500
      const ends = [...idle, ...slow].map(async (socket) => {
        await closed(socket)
        open -= 1
      })
      for (const socket of slow) socket.write(`GET ${right} HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `)
      // Often enough that some bytes meet a connection that was just closed.
      const drip = setInterval(() => {
        for (const socket of slow) socket.write('a')
      }, 5)
      try {
        const page = visit(right)
        await listener.outcome
        expect(open).to.equal(500)
        // The connection of the waiting browser stays open, however long the rest of the sign-in takes.
        await Promise.all(ends)
        await listener.respond(true)
        expect((await page).body).to.contain('<h1>Signed in</h1>')
      } finally {
        clearInterval(drip)
      }
    }))

  it('survives data that is not HTTP, requests that are too long, and aborted connections', () =>
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
        await closed(socket)
      }
      for (const bytes of ['', 'GET', head]) {
        const socket = await open()
        socket.write(bytes)
        await sleep(5)
        socket.resetAndDestroy()
      }
      // Clients that send a request and never read the response.
      const deaf = await Promise.all(Array.from({ length: 50 }, open))
      for (const socket of deaf) socket.pause().write(`GET /callback HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      await signIn(temporary)
    }))

  it('accepts a browser that sends 30 kB of cookies from other sites on the host', () =>
    withListener(async ({ listener, visit }) => {
      const page = visit(right, { headers: { cookie: `a=${'x'.repeat(30_000)}` } })
      expect((await listener.outcome).kind).to.equal('granted')
      await listener.respond(true)
      expect((await page).status).to.equal(200)
    }))
})
