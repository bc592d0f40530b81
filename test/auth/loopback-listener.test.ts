import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { closed, state, type TemporaryListener, type Visit, withListener } from './temporary-listener.ts'

const right = `/callback?code=c0de&state=${state}`

/** Whether a promise is settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending')
  return (await Promise.race([promise, sleep(20, pending)])) !== pending
}

/** Sends the callback, and returns the page that the browser shows. */
async function signIn({ listener, visit }: TemporaryListener, worked: boolean): Promise<Visit> {
  const page = visit(right)
  expect((await listener.outcome).kind).to.equal('granted')
  await listener.respond(worked)
  return page
}

describe('the callback listener', () => {
  it('returns the parameters of the callback, and sends the page only when the outcome is known', () =>
    withListener(async ({ listener, visit }) => {
      const page = visit(right)
      const outcome = await listener.outcome
      if (outcome.kind !== 'granted') throw new Error(outcome.kind)
      expect([...outcome.parameters]).to.deep.equal([
        ['code', 'c0de'],
        ['state', state],
      ])
      expect(await isSettled(page)).to.equal(false)
      await listener.respond(true)
      expect((await page).status).to.equal(200)
    }))

  it('sends a page that runs nothing, loads nothing, and is not stored', () =>
    withListener(async (temporary) => {
      const { headers, body } = await signIn(temporary, true)
      const style = /<style>([\s\S]*)<\/style>/.exec(body)?.[1] ?? ''
      const hash = createHash('sha256').update(style).digest('base64')
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
      await listener.respond(false)
      for (const { headers, body } of [wrong, await page])
        expect(JSON.stringify(headers) + body).not.to.match(/Qz|c0de|script/)
    }))

  it('continues to wait after a request that is not the callback', () =>
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
      // Only the requests with our state are reported.
      expect(ignored).to.deep.equal([
        'a request that is not a GET was ignored',
        'a request that is not a GET was ignored',
        'a request for another host was ignored',
        'a response with a repeated parameter was ignored',
      ])
      expect((await signIn(temporary, true)).status).to.equal(200)
    }))

  it('accepts one callback, and responds to further ones with 400', () =>
    withListener(async ({ listener, visit, ignored }) => {
      const first = visit(right)
      await listener.outcome
      expect((await visit(right.replace('c0de', 'other'))).status).to.equal(400)
      expect((await visit('/favicon.ico')).status).to.equal(404)
      expect(listener.paste(listener.redirectUri + right.slice(9))).to.include({
        kind: 'ignored',
        status: 400,
      })
      await listener.respond(true)
      expect((await first).body).to.contain('<h1>Signed in</h1>')
      expect((await visit(right)).status).to.equal(400)
      const outcome = await listener.outcome
      expect(outcome.kind === 'granted' && outcome.parameters.get('code')).to.equal('c0de')
      expect(ignored).to.deep.equal([])
    }))

  it('accepts a pasted URL', () =>
    withListener(async ({ listener, ignored, visit }) => {
      expect(listener.paste('hello')).to.include({ kind: 'ignored' })
      expect(listener.paste(`${listener.redirectUri}?code=a&state=x`)).to.include({ kind: 'ignored' })
      expect(await isSettled(listener.outcome)).to.equal(false)
      const verdict = listener.paste(` ${listener.redirectUri}?code=pasted&state=${state}\n`)
      expect(verdict.kind).to.equal('granted')
      expect(await listener.outcome).to.equal(verdict)
      await listener.respond(true)
      expect((await visit(right)).status).to.equal(400)
      expect(ignored).to.deep.equal([])
    }))

  it('can be closed twice, and closes immediately while a browser waits', () =>
    withListener(async ({ listener, visit, open }) => {
      const idle = await open()
      const page = visit(right).then(
        () => 'a page',
        () => 'closed',
      )
      await listener.outcome
      const idleClosed = closed(idle)
      await Promise.all([listener.close(), listener.close()])
      expect(await page).to.equal('closed')
      await idleClosed
      await listener.respond(true)
      expect(listener.paste(listener.redirectUri + right.slice(9)).kind).to.equal('ignored')
      expect(await visit(right).catch(({ code }) => code)).to.equal('ECONNREFUSED')
    }))
})
