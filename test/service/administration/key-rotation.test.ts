import { expect } from 'chai'
import {
  type Administration,
  openAdministration,
} from '../../../src/service/administration/administration.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { rejectedFailure } from '../../support/thrown-failure.ts'
import { takesEffect } from '../take-effect.ts'
import { caller, onEachEngine, type TemporaryService } from '../temporary-service.ts'

const hour = 3_600_000
const header = 'x-credential-expires-at'

onEachEngine('a key that is rotated', (withService, engine) => {
  interface Place {
    service: TemporaryService
    administration: Administration
    clock: SteppedClock
  }
  const withPlace = (use: (place: Place) => Promise<void>): Promise<void> => {
    const clock = new SteppedClock()
    return withService(
      async (service) => {
        const administration = await openAdministration(service.place, clock)
        try {
          await use({ service, administration, clock })
        } finally {
          await administration.close()
        }
      },
      { clock },
    )
  }
  const answers = ({ url }: TemporaryService, key: string, status: number) =>
    takesEffect(engine, async () => {
      expect((await caller(url, key)('GET', '/api/user/profile')).status).to.equal(status)
    })
  const dateIn = (clock: SteppedClock, ms: number) => new Date(clock.now() + ms).toISOString()

  it('works until the end of the overlap, and its replacement immediately', () =>
    withPlace(async ({ service, administration, clock }) => {
      const permissions = ['read:profile', 'read:chat']
      const old = await administration.createKey({ name: 'ci', tier: 'pro', permissions })
      await answers(service, old.key, 200)
      const end = dateIn(clock, 24 * hour)
      const rotated = await administration.rotateKey('ci', { overlap: 24 * hour })
      expect(rotated).to.deep.include({ name: 'ci', tier: 'pro', limit: 1000, permissions, expires_at: null })
      expect(rotated.replaces).to.deep.equal({
        id: old.id,
        name: 'ci (rotated)',
        expires_at: end,
        revoked_at: null,
      })
      await answers(service, rotated.key, 200)
      const call = caller(service.url, old.key)
      await takesEffect(engine, async () => {
        expect((await call('GET', '/api/user/profile')).headers.get(header)).to.equal(end)
      })
      clock.pass(24 * hour)
      await answers(service, old.key, 401)
      await answers(service, rotated.key, 200)
    }))

  it('is revoked immediately without an overlap, and keeps its name', () =>
    withPlace(async ({ service, administration, clock }) => {
      const old = await administration.createKey({ name: 'ci', tier: 'free' })
      const rotated = await administration.rotateKey(old.id, { overlap: 0 })
      expect(rotated.replaces).to.include({ name: 'ci', revoked_at: dateIn(clock, 0) })
      await answers(service, old.key, 401)
      await answers(service, rotated.key, 200)
      expect(await changesIn(administration)).to.deep.equal([
        ['key.create', old.id],
        ['key.revoke', old.id],
        ['key.create', rotated.id],
      ])
    }))

  it('gives its lifetime to its replacement, and does not end later than before', () =>
    withPlace(async ({ administration, clock }) => {
      const end = dateIn(clock, 10 * hour)
      await administration.createKey({ name: 'ci', tier: 'free', expiresAt: end })
      clock.pass(8 * hour)
      const rotated = await administration.rotateKey('ci', { overlap: 24 * hour })
      expect([rotated.expires_at, rotated.replaces.expires_at]).to.deep.equal([dateIn(clock, 10 * hour), end])
      const again = await administration.rotateKey('ci', { overlap: hour, expiresAt: null })
      expect(again.expires_at).to.equal(null)
      expect((await changesIn(administration)).slice(-2)).to.deep.equal([
        ['key.update', rotated.id],
        ['key.create', again.id],
      ])
    }))

  it('must be the only valid one of its name, or be named by its ID, like a key that is updated or revoked', () =>
    withPlace(async ({ administration }) => {
      const first = await administration.createKey({ name: 'ci', tier: 'free' })
      const second = await administration.createKey({ name: 'ci', tier: 'free' })
      const byName = [
        (name: string) => administration.rotateKey(name, { overlap: 0 }),
        (name: string) => administration.updateKey(name, { tier: 'pro' }),
        (name: string) => administration.revokeKey(name),
      ]
      for (const act of byName) {
        const ambiguous = await rejectedFailure(() => act('ci'))
        expect(ambiguous).to.include({ kind: 'usage' })
        expect(ambiguous.hint).to.contain(first.id).and.to.contain(second.id)
        const message = 'No valid API key has the ID or name "none"'
        expect(await rejectedFailure(() => act('none'))).to.include({ kind: 'not_found', message })
      }
      await administration.revokeKey(first.id)
      const revoked = await rejectedFailure(() => administration.rotateKey(first.id, { overlap: 0 }))
      expect(revoked).to.include({ kind: 'conflict' })
      expect(await administration.updateKey('ci', { tier: 'pro' })).to.include({ id: second.id, tier: 'pro' })
      expect(await administration.revokeKey('ci')).to.include({ id: second.id, tier: 'pro' })
      expect(await administration.listKeys()).to.have.length(2)
    }))

  it('has a replacement with at most 200 characters in its old name', () =>
    withPlace(async ({ administration }) => {
      const name = '🦛'.repeat(200)
      await administration.createKey({ name, tier: 'free' })
      const { replaces } = await administration.rotateKey(name, { overlap: hour })
      expect([...replaces.name]).to.have.length(200)
      expect(replaces.name).to.match(/ \(rotated\)$/)
    }))

  it('sends no expiry header for a key that never ends', () =>
    withPlace(async ({ service, administration }) => {
      const { key } = await administration.createKey({ name: 'ci', tier: 'free' })
      const answer = await caller(service.url, key)('GET', '/api/user/profile')
      expect(answer.headers.get(header)).to.equal(null)
    }))
})

/** Actions and targets, the oldest first. */
async function changesIn(administration: Administration) {
  const changes = await administration.listChanges({ action: 'key', limit: 10 })
  return changes.map(({ action, target }) => [action, target])
}
