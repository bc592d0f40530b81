import { expect } from 'chai'
import { withService } from '../temporary-service.ts'
import { readAnswers, sendBytes } from './raw-request.ts'

/** The response to a request with this target. */
async function ask(url: string, target: string, headers: Record<string, string> = {}) {
  const { host } = new URL(url)
  const lines = Object.entries({ Host: host, Connection: 'close', ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const [answer] = readAnswers(
    (await sendBytes(url, `GET ${target} HTTP/1.1\r\n${head}\r\n`, { silence: 8_000 })).text,
  )
  if (!answer) throw new Error('no response')
  return answer
}

describe('a request with an absolute URL as its target (RFC 9112 section 3.2.2)', () => {
  it('is never redirected to another host', () =>
    withService(async ({ url }) => {
      const { port } = new URL(url)
      for (const target of [
        'http://evil.example/sign-in',
        'HTTP://evil.example/account',
        'http://u@evil.example:1/account?x',
      ]) {
        const { status, head } = await ask(url, target, { Host: `localhost:${port}` })
        expect(status).to.equal(303)
        expect(head)
          .to.match(/^location: http:\/\/127\.0\.0\.1:/im)
          .and.not.include('evil.example')
        expect((await ask(url, target)).head).not.to.include('evil.example')
      }
    }))

  it('follows the same rules as a request with a path', () =>
    withService(async ({ url, key, call }) => {
      const cors = { allowed_origins: ['https://a.example'], allowed_methods: ['GET'] }
      await call('POST', '/v1/settings/api', { cors })
      expect((await ask(url, 'http://any.example/v1/nothing')).status).to.equal(401)
      expect((await ask(url, 'http://any.example')).status).to.equal(200)
      expect((await ask(url, 'http://any.example?x')).status).to.equal(200)
      const shared = await ask(url, 'http://any.example/v1/settings', {
        Origin: 'https://a.example',
        Authorization: `Bearer ${key}`,
      })
      expect(shared.status).to.equal(200)
      expect(shared.head).to.match(/^access-control-allow-origin: https:\/\/a\.example$/m)
    }))
})
