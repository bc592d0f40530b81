import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { closed, state, type TemporaryListener, type Visit, withListener } from './temporary-listener.ts'

const right = `/callback?code=c0de&state=${state}`

/** Whether it has settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending')
  return (await Promise.race([promise, sleep(20, pending)])) !== pending
}

/** A visit that ends the flow, with its page as the program lets it be shown. */
async function signIn({ listener, visit }: TemporaryListener, worked: boolean): Promise<Visit> {
  const page = visit(right)
  expect((await listener.outcome).kind).to.equal('granted')
  await listener.answer(worked)
  return page
}

describe('the listener for the browser', () => {
  it('names where it listens', () =>
    withListener(async ({ listener, port }) => {
      expect(listener.redirectUri).to.equal(`http://127.0.0.1:${port}/callback`)
      expect(port).to.be.above(1023)
    }))

  it('listens on ::1', () =>
    withListener(
      async (temporary) => {
        expect(temporary.listener.redirectUri).to.equal(`http://[::1]:${temporary.port}/callback`)
        expect((await signIn(temporary, true)).body).to.contain('<h1>Signed in</h1>')
      },
      { host: '::1' },
    ))

  it('gives the parameters of the answer, and holds its page back until it is known whether it worked', () =>
    withListener(async ({ listener, visit }) => {
      const page = visit(right)
      const outcome = await listener.outcome
      if (outcome.kind !== 'granted') throw new Error(outcome.kind)
      expect([...outcome.parameters]).to.deep.equal([
        ['code', 'c0de'],
        ['state', state],
      ])
      expect(await isSettled(page)).to.equal(false)
      await listener.answer(true)
      expect((await page).status).to.equal(200)
    }))

  it('says on the page whether it worked', () =>
    withListener(async (temporary) => {
      const { body } = await signIn(temporary, true)
      expect(body).to.contain('<title>Signed in · chatctl</title>').and.contain('return to the terminal')
      await withListener(async (other) => {
        const page = await signIn(other, false)
        expect(page.body)
          .to.contain('<title>Not signed in · chatctl</title>')
          .and.contain('<h1>Not signed in</h1>')
      })
    }))

  it('gives a refusal of the server, and a foreign issuer, and then says that it did not work', async () => {
    const expectEnd = (query: string, outcome: object) =>
      withListener(
        async ({ listener, visit }) => {
          const page = visit(`/callback?state=${state}&${query}`)
          expect(await listener.outcome).to.deep.equal(outcome)
          expect(await isSettled(page)).to.equal(false)
          await listener.answer(false)
          expect((await page).body).to.contain('Not signed in')
        },
        { issuer: 'https://id.example' },
      )
    await expectEnd('error=access_denied&error_description=No', {
      kind: 'denied',
      error: 'access_denied',
      description: 'No',
    })
    await expectEnd('code=x&iss=https://evil.example', { kind: 'foreign' })
  })

  it('sends a page that runs nothing, loads nothing and is kept nowhere', () =>
    withListener(async (temporary) => {
      const { headers, body } = await signIn(temporary, true)
      const style = /<style>([\s\S]*)<\/style>/.exec(body)?.[1] ?? ''
      const hash = createHash('sha256').update(style).digest('base64')
      expect(style).to.contain('prefers-color-scheme')
      expect(headers['content-security-policy']).to.equal(
        `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      )
      expect(headers).to.include({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'cross-origin-opener-policy': 'same-origin',
        connection: 'close',
      })
      expect(body).not.to.match(/<script|style=|\son\w+=|src=|href=|url\(|http-equiv/)
      expect(body).to.match(/<html lang="en"/)
    }))

  it('echoes nothing of a request', () =>
    withListener(async (temporary) => {
      const { visit, listener } = temporary
      const plain = await visit('/callback')
      const noisy = '/callback?code=Qz1&state=Qz2&error_description=Qz3&%3Cscript%3E=Qz4'
      const headers = { referer: 'http://Qz5/', origin: 'http://Qz6', 'x-request-id': 'Qz7', cookie: 'Qz8=1' }
      const wrong = await visit(noisy, { headers })
      expect(wrong.body).to.equal(plain.body)
      const page = visit(`${right}&x=Qz9`, { headers })
      await listener.outcome
      await listener.answer(false)
      for (const { headers, body } of [wrong, await page])
        expect(JSON.stringify(headers) + body).not.to.match(/Qz|c0de|script/)
    }))

  it('goes on waiting after what is no answer', () =>
    withListener(async (temporary) => {
      const { listener, visit, ignored } = temporary
      const wrong: [string, Parameters<typeof visit>[1], number][] = [
        [right, { method: 'HEAD' }, 405],
        [right, { method: 'POST' }, 405],
        ['/favicon.ico', {}, 404],
        ['/', {}, 404],
        [right, { headers: { host: 'localhost:1' } }, 400],
        [right.replace('state=', 'state=x'), {}, 400],
        [`${right}&code=other`, {}, 400],
        [`${right}&state=${state}`, {}, 400],
        [`${right}&x=${'x'.repeat(20_000)}`, {}, 400],
      ]
      for (const [target, options, status] of wrong) {
        const answer = await visit(target, options)
        expect(answer.status, target.slice(0, 200)).to.equal(status)
        expect(answer.headers.connection).to.equal('close')
        if (status === 400) expect(answer.body).to.contain('Unexpected request')
        else expect(answer.body).to.equal('')
        if (status === 405) expect(answer.headers.allow).to.equal('GET')
        expect(await isSettled(listener.outcome)).to.equal(false)
      }
      // Those with our state, and only those.
      expect(ignored).to.deep.equal([
        'a request that is not a GET was ignored',
        'a request that is not a GET was ignored',
        'a request for another host was ignored',
        'a response with more than one code was ignored',
      ])
      expect((await signIn(temporary, true)).status).to.equal(200)
    }))

  it('refuses a request without a Host, of HTTP/1.0 too, and one with two', () =>
    withListener(async ({ listener, host, open }) => {
      const twice = `1.1\r\nHost: ${host}\r\nHost: ${host}`
      for (const version of ['1.1', '1.0', twice]) {
        const socket = await open()
        let answer = ''
        socket.on('data', (chunk) => {
          answer += chunk
        })
        socket.write(`GET ${right} HTTP/${version}\r\n\r\n`)
        await closed(socket)
        expect(answer).to.match(/^HTTP\/1\.1 400 /)
      }
      expect(await isSettled(listener.outcome)).to.equal(false)
    }))

  it('takes one answer: any further one gets 400, and the icon is still none', () =>
    withListener(async ({ listener, visit, ignored }) => {
      const first = visit(right)
      await listener.outcome
      const second = await visit(right.replace('c0de', 'other'))
      expect(second.status).to.equal(400)
      expect((await visit('/favicon.ico')).status).to.equal(404)
      expect(listener.paste(listener.redirectUri + right.slice(9))).to.include({
        kind: 'ignored',
        status: 400,
      })
      await listener.answer(true)
      expect((await first).body).to.contain('<h1>Signed in</h1>')
      expect((await visit(right)).status).to.equal(400)
      const outcome = await listener.outcome
      expect(outcome.kind === 'granted' && outcome.parameters.get('code')).to.equal('c0de')
      expect(ignored).to.deep.equal([])
    }))

  it('takes a pasted URL', () =>
    withListener(async ({ listener, ignored, visit }) => {
      expect(listener.paste('hello')).to.include({ kind: 'ignored' })
      expect(listener.paste(`${listener.redirectUri}?code=a&state=x`)).to.include({ kind: 'ignored' })
      expect(await isSettled(listener.outcome)).to.equal(false)
      const verdict = listener.paste(` ${listener.redirectUri}?code=pasted&state=${state}\n`)
      expect(verdict.kind).to.equal('granted')
      expect(await listener.outcome).to.equal(verdict)
      await listener.answer(true)
      expect((await visit(right)).status).to.equal(400)
      expect(ignored).to.deep.equal([])
    }))

  it('answers nobody where the browser has gone, and only once', () =>
    withListener(async ({ listener, host, open }) => {
      const socket = await open()
      socket.write(`GET ${right} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      await listener.outcome
      socket.destroy()
      await sleep(20)
      await listener.answer(true)
      await listener.answer(false)
    }))

  it('closes at once while a browser waits, and twice', () =>
    withListener(async ({ listener, visit, open }) => {
      const idle = await open()
      const page = visit(right).then(
        () => 'a page',
        () => 'cut off',
      )
      await listener.outcome
      const idleClosed = closed(idle)
      await Promise.all([listener.close(), listener.close()])
      expect(await page).to.equal('cut off')
      await idleClosed
      await listener.answer(true)
      expect(listener.paste(listener.redirectUri + right.slice(9)).kind).to.equal('ignored')
      expect(await visit(right).catch(({ code }) => code)).to.equal('ECONNREFUSED')
    }))
})
