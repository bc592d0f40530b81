import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { expectNothingStored } from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { startBearerService } from '../support/handlers/bearer.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { createFakeBrowser, startLogin } from '../support/login-process.ts'
import { startOidcProvider } from '../support/oidc-provider.ts'
import { createSandbox } from '../support/sandbox.ts'
import { loginFlags } from '../support/sign-in.ts'
import { agreeByHttp, openPage, openStartPage, signInByHttp } from '../support/sign-in-by-http.ts'
import { state, type TemporaryListener, withListener } from './temporary-listener.ts'

const right = `/callback?code=c0de&state=${state}`
const authorizationUrl = `https://id.example/oauth/authorize?state=${state}`

/** Opens the start page in the first browser. */
async function open({ listener, visit }: TemporaryListener) {
  const { pathname: startPath } = new URL(listener.bindToFirstBrowser(authorizationUrl))
  const { status, headers } = await visit(startPath)
  const [line = ''] = headers['set-cookie'] ?? []
  return { startPath, status, headers, line, cookie: line.split(';')[0] ?? '' }
}

describe('the start page of a sign-in', () => {
  it('redirects the first browser to the authorization URL, with a cookie for the callback only', () =>
    withListener(async (temporary) => {
      const { startPath, status, headers, line } = await open(temporary)
      expect(startPath)
        .to.match(/^\/callback\/[\w-]{43}$/)
        .and.not.contain(state)
      expect(status).to.equal(302)
      expect(headers).to.include({
        location: authorizationUrl,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      const name = `chatctl-sign-in-${temporary.port}`
      // Without Path, the cookie is sent to everything in the directory of the page, which includes the callback.
      expect(line).to.match(new RegExp(`^${name}=[\\w-]{43}; HttpOnly; SameSite=Lax$`))
    }))

  it('ends the sign-in if a second browser opens it, and tells that browser nothing', () =>
    withListener(async (temporary) => {
      const { startPath, cookie } = await open(temporary)
      const other = await temporary.visit(startPath, { headers: { cookie: `${cookie}x` } })
      expect(other.body).to.contain('Not signed in')
      expect(JSON.stringify(other.headers) + other.body).not.to.contain(state)
      expect(other.headers).not.to.have.property('set-cookie')
      expect(await temporary.listener.outcome).to.deep.equal({ kind: 'contested' })
      expect((await temporary.visit(right, { headers: { cookie } })).status).to.equal(400)
    }))

  it('responds only to a GET with the right host and path', () =>
    withListener(async (temporary) => {
      const { listener, visit } = temporary
      const { pathname } = new URL(listener.bindToFirstBrowser(authorizationUrl))
      expect((await visit(pathname, { method: 'HEAD' })).status).to.equal(405)
      expect((await visit(pathname, { headers: { host: 'localhost:1' } })).status).to.equal(400)
      expect((await visit(`${pathname}?x`)).status).to.equal(404)
      expect((await visit(`${pathname.slice(0, -1)}!`)).status).to.equal(404)
      expect((await visit(pathname)).status).to.equal(302)
    }))

  it('is the only way to a callback that is accepted', () =>
    withListener(async (temporary) => {
      const { visit, listener, ignored } = temporary
      const { cookie } = await open(temporary)
      const [name = ''] = cookie.split('=')
      for (const cookies of ['', `${name}=`, `${name}=x`, cookie.slice(0, -1), `x${cookie}`]) {
        expect((await visit(right, { headers: { cookie: cookies } })).status).to.equal(400)
        expect((await visit(`/callback?error=access_denied&state=${state}`)).status).to.equal(400)
      }
      expect(new Set(ignored)).to.deep.equal(new Set(['a response from another browser was ignored']))
      // A page on another port may have set a cookie of the same name.
      const page = visit(right, { headers: { cookie: `${name}=planted; ${cookie}` } })
      expect((await listener.outcome).kind).to.equal('granted')
      await listener.respond(true)
      expect((await page).status).to.equal(200)
    }))

  it('is not needed for a pasted URL, which has no cookie', () =>
    withListener(async (temporary) => {
      await open(temporary)
      const { listener } = temporary
      expect(listener.paste(`${listener.redirectUri}?code=c&state=${state}`).kind).to.equal('granted')
    }))

  it('is removed if no browser could be opened, and any browser may send the callback', () =>
    withListener(async ({ listener, visit }) => {
      const { pathname } = new URL(listener.bindToFirstBrowser(authorizationUrl))
      expect(listener.unbind()).to.equal(true)
      expect((await visit(pathname)).status).to.equal(404)
      void visit(right)
      expect((await listener.outcome).kind).to.equal('granted')
      await listener.respond(true)
    }))

  it('stays required if a browser opened it, also if its launcher reported a failure', () =>
    withListener(async (temporary) => {
      await open(temporary)
      expect(temporary.listener.unbind()).to.equal(false)
      expect((await temporary.visit(right)).status).to.equal(400)
    }))

  it('ignores a program of another user of this machine', async function () {
    // Only Linux tells which user owns a connection, and only root can start a program as another user.
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return this.skip()
    await withListener(async ({ listener, visit, ignored }) => {
      const { host, hostname, port, pathname } = new URL(listener.bindToFirstBrowser(authorizationUrl))
      const code = `exec 3<>/dev/tcp/${hostname}/${port}; cat >&3; cat <&3`
      const stranger = spawn('bash', ['-c', code], { uid: 54_321, cwd: '/' })
      stranger.stdin.end(`GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
      expect(await text(stranger.stdout)).to.match(/^HTTP\/1\.1 400 /)
      expect(ignored).to.deep.equal([
        'a request from another user, or from a program that has ended, was ignored',
      ])
      expect((await visit(pathname)).status).to.equal(302)
    })
  })
})

/** Another user can read the list of processes, and has an account at the service (RFC 9700 section 4.7.1). */
describe('another user of the machine', () => {
  const server = perSuite(startOidcProvider)
  const service = perSuite(() => startBearerService((token) => server.isLive(token)))
  const sandbox = perTest(createSandbox)

  const start = () => {
    const browser = createFakeBrowser(sandbox)
    const flags = [...loginFlags({ server, service }), '--scope', 'chat:write']
    return { browser, ...startLogin(sandbox, flags, { stdin: '', env: browser.env }) }
  }

  it('sees neither the state nor the code challenge in the command line of the browser', async () => {
    const { browser, ended } = start()
    const address = await browser.opened()
    const { authorizationUrl } = await openStartPage(address)
    const { searchParams } = new URL(authorizationUrl)
    for (const name of ['state', 'code_challenge', 'client_id'])
      expect(address).not.to.contain(searchParams.get(name))
    await openPage(address)
    expectFailure(await ended, 4)
  })

  it('cannot complete the sign-in with another account, because that callback lacks the cookie', async () => {
    const { browser, ended } = start()
    const { authorizationUrl, cookie } = await openStartPage(await browser.opened())
    expect((await signInByHttp(authorizationUrl)).status).to.equal(400)
    expect((await openPage(await agreeByHttp(authorizationUrl), cookie)).status).to.equal(200)
    const { exitCode, stderr } = await ended
    expect(exitCode).to.equal(0)
    expect(stderr).to.contain('Still waiting: a response from another browser was ignored')
  })

  it('ends the sign-in by opening the start page first, and nothing is stored', async () => {
    const { browser, ended } = start()
    const address = await browser.opened()
    await openStartPage(address)
    await openPage(address)
    expectFailure(await ended, 4, 'Two browsers opened the sign-in page', 'Another user of this machine')
    expectNothingStored(sandbox)
  })
})
