import { expect } from 'chai'
import * as fc from 'fast-check'
import { merge } from '../../../src/service/domain/settings.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { forAll } from '../../support/for-all.ts'
import { onEachTransport } from '../temporary-service.ts'

onEachTransport('settings of the embedded service', (withService) => {
  it('change only the keys that are named, and are returned completely', () =>
    withService(async ({ call }) => {
      const { body: before } = await call('GET', '/v1/settings')
      const patch = { theme: { primary_color: '#AABBCC' }, features: { file_upload: true } }
      const { status, body } = await call('PATCH', '/v1/settings', patch)
      expect(status).to.equal(200)
      expect(body).to.deep.equal({
        ...before,
        theme: { ...before.theme, primary_color: '#AABBCC' },
        features: { ...before.features, file_upload: true },
      })
      expect((await call('GET', '/v1/settings')).body).to.deep.equal(body)
      expect((await call('PATCH', '/v1/settings', {})).body).to.deep.equal(body)
    }))

  it('have a serial that every change of them and of the API configuration moves, also with a stopped clock', () => {
    const clock = { ...systemClock, now: () => Date.parse('2020-01-01') }
    return withService(
      async ({ call }) => {
        const serials = []
        for (const path of ['', '/api', '', '/api']) {
          serials.push((await call('GET', '/v1/settings')).headers.get('x-settings-serial'))
          serials.push((await call('GET', '/v1/settings')).headers.get('x-settings-serial'))
          await call(
            path ? 'POST' : 'PATCH',
            `/v1/settings${path}`,
            path ? { version: '1' } : { app_name: 'Same' },
          )
        }
        expect(new Set(serials).size).to.equal(4)
        expect(serials).not.to.include(null)
      },
      { clock },
    )
  })

  it('keep every one of many patches that arrive at the same time', () =>
    withService(async ({ call }) => {
      const patches = [
        { app_name: 'Together' },
        { theme: { mode: 'dark' } },
        { theme: { primary_color: '#000000' } },
        { features: { chat: false } },
        { features: { file_upload: true } },
        { features: { code_completion: true } },
        { limits: { max_tokens: 1 } },
        { limits: { max_requests_per_min: 2 } },
      ]
      await Promise.all(patches.map((patch) => call('PATCH', '/v1/settings', patch)))
      expect((await call('GET', '/v1/settings')).body).to.deep.equal({
        app_name: 'Together',
        theme: { primary_color: '#000000', mode: 'dark' },
        features: { chat: false, file_upload: true, code_completion: true },
        limits: { max_tokens: 1, max_requests_per_min: 2 },
      })
    }))

  it('reject invalid values, and then stay unchanged', () =>
    withService(async ({ call }) => {
      const { body: before } = await call('GET', '/v1/settings')
      for (const [patch, path] of [
        [{ theme: { mode: 'blue' } }, 'theme.mode'],
        [{ theme: { primary_color: 'red' } }, 'theme.primary_color'],
        [{ theme: null }, 'theme'],
        [{ app_name: '' }, 'app_name'],
        [{ limits: { max_tokens: 0 } }, 'limits.max_tokens'],
        [{ limits: { max_tokens: 1.5 } }, 'limits.max_tokens'],
        [{ limits: { max_requests_per_min: -1 } }, 'limits.max_requests_per_min'],
        [{ features: { chat: 'yes' } }, 'features.chat'],
      ] as const) {
        const answer = await call('PATCH', '/v1/settings', { app_name: 'Half', ...patch })
        expect(answer.status, path).to.equal(400)
        expect(answer.body.error.details.faults.map((fault: { path: string }) => fault.path)).to.deep.equal([
          path,
        ])
      }
      expect((await call('GET', '/v1/settings')).body).to.deep.equal(before)
    }))

  it('are merged by the same rules as the API configuration', () =>
    withService(async ({ call }) => {
      const one = await call('POST', '/v1/settings/api', {
        version: '2',
        rate_limiting: { enabled: true },
        cors: { allowed_origins: ['https://a.example', '*'], allowed_methods: ['GET'] },
      })
      expect(one.status).to.equal(200)
      const two = await call('POST', '/v1/settings/api', {
        cors: { allowed_origins: ['http://b.example:81'] },
      })
      expect(two.body).to.deep.equal({
        version: '2',
        rate_limiting: { enabled: true, requests_per_minute: 60_000 },
        cors: { allowed_origins: ['http://b.example:81'], allowed_methods: ['GET'] },
      })
      for (const body of [
        { cors: { allowed_origins: ['https://a.example/path'] } },
        { cors: { allowed_origins: ['a.example'] } },
        { cors: { allowed_methods: ['G ET'] } },
        { rate_limiting: { requests_per_minute: 0 } },
        { version: '' },
      ])
        expect((await call('POST', '/v1/settings/api', body)).status, JSON.stringify(body)).to.equal(400)
      const { body } = await call('POST', '/v1/settings/api', {
        cors: { allowed_origins: ['*', 'a', 5, 'b'] },
      })
      expect(body.error.details.faults.map(({ path }: { path: string }) => path)).to.deep.equal([
        'cors.allowed_origins.2',
        'cors.allowed_origins.1',
        'cors.allowed_origins.3',
      ])
    }))

  it('are limited in characters, not in UTF-16 code units', () =>
    withService(async ({ call }) => {
      for (const [count, status] of [
        [200, 200],
        [201, 400],
        [500, 400],
      ] as const)
        expect((await call('PATCH', '/v1/settings', { app_name: '👍'.repeat(count) })).status).to.equal(
          status,
        )
    }))
})

describe('merging a patch', () => {
  const tree = fc.letrec<{ node: Record<string, unknown> }>((tie) => ({
    node: fc.dictionary(
      fc.constantFrom('a', 'b', 'c'),
      fc.oneof({ depthSize: 'small' }, fc.integer(), fc.array(fc.integer()), tie('node')),
    ),
  })).node

  it('sets everything that the patch names, keeps the rest, and changes neither input', () =>
    forAll(tree, tree, (base, patch) => {
      const [baseBefore, patchBefore] = [structuredClone(base), structuredClone(patch)]
      const merged = merge(base, patch)
      expectWithin(patch, merged)
      for (const key of Object.keys(base)) if (!(key in patch)) expect(merged[key]).to.deep.equal(base[key])
      expect(merge(merged, patch)).to.deep.equal(merged)
      expect([base, patch]).to.deep.equal([baseBefore, patchBefore])
    }))
})

function expectWithin(part: unknown, whole: unknown): void {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) {
    expect(whole).to.deep.equal(part)
    return
  }
  for (const [key, value] of Object.entries(part)) expectWithin(value, Reflect.get(Object(whole), key))
}
