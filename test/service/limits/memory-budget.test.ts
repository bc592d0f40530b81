import { once } from 'node:events'
import { request, type ServerResponse } from 'node:http'
import { expect } from 'chai'
import fc from 'fast-check'
import { storeExchange } from '../../../src/service/domain/chat/contexts.ts'
import { createId } from '../../../src/service/domain/identifiers.ts'
import { MemoryBudget } from '../../../src/service/limits/memory-budget.ts'
import type { Database } from '../../../src/service/store/tables.ts'
import { until } from '../../support/until.ts'
import { plantUser } from '../domain/plant-key.ts'
import { caller, withService } from '../temporary-service.ts'
import { sendJson, withUpstream } from '../upstream/scripted-upstream.ts'
import { withCountedService } from './counted-service.ts'

const MiB = 1024 * 1024

describe('the memory budget', () => {
  it('stays within its bounds, except for a single larger request, and is released completely', () => {
    const bounds = { ofUser: 10, ofAll: 25 }
    const step = fc.record({
      user: fc.constantFrom('a', 'b', 'c', 'd'),
      bytes: fc.integer({ min: 1, max: 12 }),
      release: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const budget = new MemoryBudget(bounds)
        const held: { user: string; bytes: number; release: () => void }[] = []
        const sumOf = (user?: string) =>
          held
            .filter((one) => user === undefined || one.user === user)
            .reduce((sum, { bytes }) => sum + bytes, 0)
        for (const { user, bytes, release } of steps) {
          if (release) held.shift()?.release()
          const fits =
            (sumOf(user) === 0 || sumOf(user) + bytes <= bounds.ofUser) &&
            (sumOf() === 0 || sumOf() + bytes <= bounds.ofAll)
          let code: string | undefined
          try {
            held.push({ user, bytes, release: budget.reserve(user, bytes) })
          } catch (error) {
            code = (error as { code: string }).code
          }
          expect(code === undefined).to.equal(fits)
          if (code === 'too_busy')
            expect(sumOf(user) === 0 || sumOf(user) + bytes <= bounds.ofUser).to.equal(true)
        }
        for (const { release } of held) release()
        for (const user of ['a', 'b']) budget.reserve(user, 10)
        expect(() => budget.reserve('a', 1)).to.throw('Your concurrent requests contain too much text')
        expect(() => budget.reserve('c', 6)).to.throw('All concurrent requests contain too much text')
      }),
    )
  })
})

/** A connection that has announced a body, and sends no more of it. */
async function announce(url: string, key: string, length: number | undefined) {
  const outgoing = request(`${url}/api/chat/send`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': length }),
    },
  })
  outgoing.on('error', () => {})
  outgoing.write('{')
  await once(outgoing, 'socket')
  return outgoing
}

/**
 * Stores a conversation whose reply has this many characters. Each takes six bytes of a response: four
 * megabytes could disappear in the buffers of the system, and the response would be complete although nothing
 * reads it.
 */
async function store(db: Database, userId: string, characters: number): Promise<string> {
  const createdAt = new Date().toISOString()
  const contextId = createId('ctx')
  await storeExchange(db, {
    ...{ userId, contextId, isNewContext: true, messageId: createId('msg'), replyId: createId('msg') },
    ...{
      message: 'x',
      reply: '\u0001'.repeat(characters),
      incomplete: false,
      model: 'm',
      finishReason: 'stop',
    },
    ...{ sentAt: createdAt, createdAt },
  })
  return contextId
}

describe('requests that hold much text', () => {
  it('get 429 and Retry-After above 16 MiB of one user, until others have finished', () =>
    withCountedService(async ({ url, key, call, admin }) => {
      const bodies = await Promise.all([
        ...Array.from({ length: 2 }, () => announce(url, key, 4 * MiB)),
        ...Array.from({ length: 2 }, () => announce(url, key, undefined)),
      ])
      let refused = await call('POST', '/api/chat/send', { message: 'x' })
      await until(async () => {
        refused = await call('POST', '/api/chat/send', { message: 'x' })
        return refused.status === 429
      })
      expect(refused.body.error.code).to.equal('too_much_at_once')
      expect(refused.headers.get('retry-after')).to.equal('1')
      expect((await call('GET', '/api/user/profile')).status).to.equal(200)
      for (const body of bodies) body.destroy()
      await until(async () => (await call('POST', '/api/chat/send', { message: 'x' })).status === 200)
      expect((await admin('GET', '/api/user/profile')).status).to.equal(200)
    }))

  it('get 503 and Retry-After above 64 MiB of all users', () =>
    withCountedService(async ({ url, store: { db }, makeKey }) => {
      const keys = []
      for (let index = 0; index < 5; index++) {
        const { id, key } = await makeKey('pro', null)
        const user = await plantUser(db, { email: `user${index}@example.com` })
        await db.updateTable('api_keys').set({ user_id: user.id }).where('id', '=', id).execute()
        keys.push(key)
      }
      const [last = '', ...others] = keys
      const bodies = await Promise.all(
        others.flatMap((key) => Array.from({ length: 4 }, () => announce(url, key, 4 * MiB))),
      )
      const call = caller(url, last)
      await until(async () => {
        const { status, body, headers } = await call('POST', '/api/chat/send', { message: 'x' })
        if (status !== 503) return false
        expect(body.error.code).to.equal('too_busy')
        expect(headers.get('retry-after')).to.equal('1')
        return true
      })
      for (const body of bodies) body.destroy()
      await until(async () => (await call('POST', '/api/chat/send', { message: 'x' })).status === 200)
    }))

  it('do not include small ones without a Content-Length, after their body has arrived', async () => {
    const waiting: ServerResponse[] = []
    await withUpstream(
      (response) => waiting.push(response),
      ({ url: upstream }) =>
        withService(
          async ({ url, key }) => {
            const statuses: (number | undefined)[] = []
            for (let count = 1; count <= 6; count++) {
              const outgoing = request(`${url}/v1/chat/completions`, {
                method: 'POST',
                headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
              })
              outgoing.on('response', (response) => statuses.push(response.resume().statusCode))
              outgoing.write('{"model":"m1",')
              outgoing.end('"messages":[{"role":"user","content":"x"}]}')
              await until(() => waiting.length + statuses.length === count)
            }
            expect(statuses).to.deep.equal([])
            for (const response of waiting) sendJson(response, { choices: [{ message: { content: 'x' } }] })
            await until(() => statuses.length === 6)
            expect(new Set(statuses)).to.deep.equal(new Set([200]))
          },
          { upstream: { url: upstream } },
        ),
    )
  })

  it('include pages of the history and conversations, until the response is sent', () =>
    withCountedService(async ({ url, key, call, store: { db } }) => {
      const { id: userId } = (await call('GET', '/api/user/profile')).body
      const contextId = await store(db, userId, 4 * MiB - 1000)
      const readers = Array.from({ length: 4 }, () =>
        request(`${url}/api/chat/history?limit=1`, { headers: { authorization: `Bearer ${key}` } }).end(),
      )
      // They read the head of the response and nothing of its body.
      const responses = await Promise.all(readers.map((reader) => once(reader, 'response')))
      for (const path of ['/api/chat/history?limit=1', `/api/chat/history?context_id=${contextId}`]) {
        const { status, body } = await call('GET', path)
        expect(status).to.equal(429)
        expect(body.error.code).to.equal('too_much_at_once')
      }
      const sent = await call('POST', '/api/chat/send', { message: 'x', context_id: contextId })
      expect(sent.body.error.code).to.equal('too_much_at_once')
      for (const [response] of responses) response.resume()
      await until(async () => (await call('GET', '/api/chat/history?limit=1')).status === 200)
    }))
})

describe('the bounds of a request', () => {
  it('are 1 MiB for a message and 512 characters for a model', () =>
    withService(async ({ call }) => {
      const fault = async (path: string, body: object) =>
        (await call('POST', path, body)).body.error?.details.faults?.[0]
      const send = '/api/chat/send'
      expect(await fault(send, { message: 'é'.repeat(MiB / 2) })).to.equal(undefined)
      expect(await fault(send, { message: `${'é'.repeat(MiB / 2)}x` })).to.deep.equal({
        path: 'message',
        message: 'must not exceed 1 MiB of UTF-8',
      })
      const messages = [{ role: 'user', content: 'x' }]
      for (const [path, body] of [
        [send, { message: 'x' }],
        ['/v1/chat/completions', { messages }],
      ] as const) {
        const found = await fault(path, { ...body, model: 'm'.repeat(513) })
        expect(found).to.deep.equal({ path: 'model', message: 'must have 1 to 512 characters' })
      }
    }))

  it('are 50,000 values in a body, and 100 faults in the response', () =>
    withService(async ({ call }) => {
      const many = await call('POST', '/v1/chat/completions', `{"messages":[${'{},'.repeat(60_000)}{}]}`)
      expect(many.status).to.equal(400)
      expect(many.body.error.message).to.equal('the body must not have more than 50,000 values')
      const sound = '{"role":"user","content":"x"},'
      const faulty = await call('POST', '/v1/chat/completions', `{"messages":[${'{},'.repeat(9_999)}{}]}`)
      expect(faulty.body.error.details.faults).to.have.length(100)
      const odd = (at: number) => `{"messages":[${sound.repeat(at)}{"role":"owner","content":1}]}`
      for (const at of [0, 49, 50, 51, 9_999]) {
        const { body } = await call('POST', '/v1/chat/completions', odd(at))
        const paths = body.error.details.faults.map(({ path }: { path: string }) => path)
        expect(paths).to.deep.equal([`messages.${at}.role`, `messages.${at}.content`])
      }
    }))
})
