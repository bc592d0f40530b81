import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { Browser } from '../../service/oauth/browser.ts'
import { createUser, redirectUri, signIn } from '../../service/oauth/flow.ts'
import { withService } from '../../service/temporary-service.ts'

describe('Authlib with the embedded service', () => {
  it('discovers the service, gets tokens with a code and on another device, renews, and revokes them', () =>
    withService(async (service) => {
      await createUser(service)
      const script = join(import.meta.dirname, 'authlib-client.py')
      // Python of Debian, for which Authlib is installed.
      const child = spawn('/usr/bin/python3', [script, service.url], { timeout: 60_000 })
      const ended = once(child, 'close')
      const errors = text(child.stderr)
      let last = ''
      const browser = new Browser()
      for await (const line of createInterface({ input: child.stdout })) {
        last = line
        if (!line.startsWith(service.url)) continue
        let page = await browser.open(line)
        if (page.text.includes('name="password"')) page = await signIn(browser, page)
        const code = new URL(line).searchParams.get('user_code')
        if (code !== null) page = await browser.submit(page, { user_code: code })
        const { url } = await browser.submit(page, { decision: 'allow' })
        if (code === null) expect(url.startsWith(redirectUri), url).to.equal(true)
        child.stdin.write(`${url}\n`)
      }
      const [exitCode] = await ended
      expect(exitCode, await errors).to.equal(0)
      expect(JSON.parse(last)).to.deep.equal({
        issuer: service.url,
        wrong_verifier: 'invalid_grant',
        token: { type: 'Bearer', scope: 'chat:write', profile: 200 },
        refreshed: { rotated: true, profile: 200 },
        revoked: { status: 200, profile: 401 },
        refresh_after_revocation: 'invalid_grant',
        refresh_token_used_twice: 'invalid_grant',
        profile_after_that: 401,
        device_pending: 'authorization_pending',
        device: { scope: 'chat:write', profile: 200 },
      })
    }))
})
