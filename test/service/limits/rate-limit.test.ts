import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { createTestProgram } from '../../../src/service/replies/test-program.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { type Answer, caller } from '../temporary-service.ts'
import { beforeNoon, remaining, withCountedService } from './counted-service.ts'

const expectLimited = (answer: Answer, window: string, limit: number, wait: number) => {
  expect(answer.status, answer.text).to.equal(429)
  expect(answer.body.error.code).to.equal('rate_limited')
  expect(answer.body.error.details).to.deep.equal({ window, limit, retry_after: wait })
  expect(answer.headers.get('retry-after')).to.equal(String(wait))
}

describe('rate limits', () => {
  it('admit what the tier allows in a clock hour, and then start again', () => {
    const clock = new SteppedClock(undefined, beforeNoon)
    return withCountedService(
      async ({ call, makeKey, url }) => {
        for (let left = 99; left >= 0; left--) {
          const answer = await call('GET', '/v1/settings')
          expect(answer.status).to.equal(200)
          expect(remaining(answer.headers, 'hour')).to.equal(left)
        }
        expectLimited(await call('GET', '/v1/settings'), 'hour', 100, 30)
        clock.pass(28_500)
        expectLimited(await call('GET', '/v1/settings'), 'hour', 100, 2)
        clock.pass(501)
        expectLimited(await call('GET', '/v1/settings'), 'hour', 100, 1)
        expect((await caller(url, (await makeKey('pro', 1000)).key)('GET', '/v1/settings')).status).to.equal(
          200,
        )
        clock.pass(998)
        expectLimited(await call('GET', '/v1/settings'), 'hour', 100, 1)
        clock.pass(1)
        const answer = await call('GET', '/v1/settings')
        expect(answer.headers.get('ratelimit')).to.equal('"hour";r=99;t=3600, "minute";r=59999;t=60')
      },
      { clock },
    )
  })

  it('admit per minute what the stricter of settings and API configuration allows', () => {
    const clock = new SteppedClock(undefined, beforeNoon)
    return withCountedService(
      async ({ call, admin }) => {
        const patch = (most: number) =>
          admin('PATCH', '/v1/settings', { limits: { max_requests_per_min: most } })
        const configure = (enabled: boolean, most: number) =>
          admin('POST', '/v1/settings/api', { rate_limiting: { enabled, requests_per_minute: most } })
        await configure(false, 1)
        for (let left = 59_999; left > 59_997; left--)
          expect(remaining((await call('GET', '/v1/settings')).headers, 'minute')).to.equal(left)
        await configure(true, 2)
        expectLimited(await call('GET', '/v1/settings'), 'minute', 2, 30)
        await configure(true, 9)
        await patch(3)
        expect((await call('GET', '/v1/settings')).headers.get('ratelimit-policy')).to.equal(
          '"hour";q=100;w=3600, "minute";q=3;w=60',
        )
        expectLimited(await call('GET', '/v1/settings'), 'minute', 3, 30)
        await patch(8)
        expect((await call('GET', '/v1/settings')).status).to.equal(200)
        clock.set(beforeNoon + 30_000)
        expect((await call('GET', '/v1/settings')).headers.get('ratelimit')).to.equal(
          '"hour";r=99;t=3600, "minute";r=7;t=60',
        )
      },
      { clock },
    )
  })

  it('name the hour if both windows are used up, because it is the longer wait', () =>
    withCountedService(
      async ({ url, admin, makeKey }) => {
        await admin('PATCH', '/v1/settings', { limits: { max_requests_per_min: 2 } })
        const call = caller(url, (await makeKey('enterprise', 2)).key)
        await call('GET', '/v1/settings')
        await call('GET', '/v1/settings')
        expectLimited(await call('GET', '/v1/settings'), 'hour', 2, 1_800)
      },
      { clock: new SteppedClock(undefined, Date.parse('2026-03-01T11:30:00Z')) },
    ))

  it('hold an enterprise key to its own hourly limit, or only to the limit per minute', () =>
    withCountedService(async ({ url, makeKey }) => {
      const own = caller(url, (await makeKey('enterprise', 1)).key)
      expect((await own('GET', '/v1/settings')).headers.get('ratelimit')).to.include('"hour";r=0')
      expectLimited(await own('GET', '/v1/settings'), 'hour', 1, 30)
      const { headers } = await caller(url, (await makeKey('enterprise', null)).key)('GET', '/v1/settings')
      expect(headers.get('ratelimit')).to.equal('"minute";r=59999;t=30')
      expect(headers.get('ratelimit-policy')).to.equal('"minute";q=60000;w=60')
    }))

  it('follow a change of the limit of a key immediately', () =>
    withCountedService(async ({ url, store, makeKey }) => {
      const { id, key } = await makeKey('enterprise', 2)
      const call = caller(url, key)
      const change = (limit: number) =>
        store.db.updateTable('api_keys').set({ hourly_limit: limit }).where('id', '=', id).execute()
      await call('GET', '/v1/settings')
      await call('GET', '/v1/settings')
      expect((await call('GET', '/v1/settings')).status).to.equal(429)
      await change(3)
      expect(remaining((await call('GET', '/v1/settings')).headers, 'hour')).to.equal(0)
      await change(1)
      const answer = await call('GET', '/v1/settings')
      expectLimited(answer, 'hour', 1, 30)
      expect(remaining(answer.headers, 'hour')).to.equal(0)
    }))

  it('count every request with a stored key, whatever its outcome, and no other request', () =>
    withCountedService(
      async ({ call, url, admin }) => {
        let left = 100
        const costs = async (answer: Promise<Answer>, status: number) => {
          const { headers, status: found } = await answer
          expect(found).to.equal(status)
          left -= 1
          expect(headers.get('ratelimit')).to.equal(`"hour";r=${left};t=30, "minute";r=${59_900 + left};t=30`)
          expect(headers.get('ratelimit-policy')).to.equal('"hour";q=100;w=3600, "minute";q=60000;w=60')
        }
        await costs(call('GET', '/v1/settings'), 200)
        await costs(call('HEAD', '/v1/settings'), 200)
        await costs(call('POST', '/v1/users', { email: 'a@example.com', password: 'long enough' }), 201)
        await costs(call('POST', '/v1/users', {}), 400)
        await costs(call('POST', '/v1/users', '{'), 400)
        await costs(call('POST', '/v1/users', 'x', { 'content-type': 'text/plain' }), 415)
        await costs(call('GET', '/v1/users/nobody'), 404)
        await costs(call('GET', '/v1/nowhere'), 404)
        await costs(call('DELETE', '/v1/settings'), 405)
        await costs(call('OPTIONS', '/v1/settings'), 405)
        await costs(call('POST', '/api/chat/send', { message: 'x', model: 'test-program' }), 200)
        await costs(
          call('POST', '/api/chat/send', { message: 'x', model: 'test-program', stream: true }),
          200,
        )
        await costs(call('GET', '/v1/chat/models'), 500)
        await admin('PATCH', '/v1/settings', { features: { chat: false } })
        await costs(call('POST', '/api/chat/send', { message: 'x' }), 403)

        const free = async (answer: Promise<Answer>, status: number) => {
          const { headers, status: found } = await answer
          expect(found).to.equal(status)
          expect(headers.has('ratelimit') || headers.has('ratelimit-policy')).to.equal(false)
        }
        await free(caller(url, undefined)('GET', '/v1/settings'), 401)
        await free(caller(url, 'ck_unknown')('GET', '/v1/settings'), 401)
        await free(call('GET', '/elsewhere'), 404)
        await free(call('GET', '/v1/%zz'), 400)
        await free(
          call('OPTIONS', '/v1/settings', undefined, {
            origin: 'https://a.example',
            'access-control-request-method': 'GET',
          }),
          204,
        )
        await free(admin('GET', '/v1/settings'), 200)
        await costs(call('GET', '/v1/settings'), 200)
      },
      { replySource: { ...createTestProgram(), listModels: () => Promise.reject(new Error('broken')) } },
    ))

  it('admit exactly the limit of requests that arrive at the same time', () =>
    withCountedService(async ({ call }) => {
      const answers = await Promise.all(Array.from({ length: 250 }, () => call('GET', '/v1/settings')))
      const admitted = answers.filter(({ status }) => status === 200)
      expect(admitted).to.have.length(100)
      const left = admitted.map(({ headers }) => remaining(headers, 'hour')).sort((a, b) => a - b)
      expect(left).to.deep.equal(Array.from({ length: 100 }, (_, index) => index))
      for (const { status, headers } of answers)
        if (status !== 200) expect(headers.get('retry-after')).to.equal('30')
    }))

  it('do not apply to a key of the process, and open no file for it', () =>
    withCountedService(async ({ admin, call, store }) => {
      await admin('PATCH', '/v1/settings', { limits: { max_requests_per_min: 1 } })
      for (let round = 0; round < 5; round++)
        expect((await admin('GET', '/v1/settings')).status).to.equal(200)
      const file = join(dirname(store.location), 'limits.db')
      expect(existsSync(file)).to.equal(false)
      expect((await call('GET', '/v1/settings')).status).to.equal(200)
      expect((await call('GET', '/v1/settings')).status).to.equal(429)
      expect(existsSync(file)).to.equal(true)
      await admin('PATCH', '/v1/settings', { limits: { max_requests_per_min: 60_000 } })
      expect((await call('GET', '/v1/settings')).status).to.equal(200)
    }))

  it('count in the later window if the clock falls behind, and restart if it was wrong by hours', () => {
    const clock = new SteppedClock(undefined, beforeNoon + 60_000)
    return withCountedService(
      async ({ call }) => {
        expect(remaining((await call('GET', '/v1/settings')).headers, 'hour')).to.equal(99)
        clock.set(beforeNoon)
        const { headers } = await call('GET', '/v1/settings')
        expect(headers.get('ratelimit')).to.equal('"hour";r=98;t=3630, "minute";r=59998;t=90')
        clock.set(beforeNoon - 3 * 3_600_000)
        expect(remaining((await call('GET', '/v1/settings')).headers, 'hour')).to.equal(99)
      },
      { clock },
    )
  })
})
