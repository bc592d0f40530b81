import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { Failure } from '../../src/contract/failure.ts'
import { hashOfField, isSameField, managedFields } from '../../src/contract/managed-fields.ts'
import type { User } from '../../src/contract/resources/user.ts'
import { composePlan } from '../../src/system/files/saved-plan.ts'
import { type UsersPlan, UsersPlanBuilder } from '../../src/users/apply/users-plan.ts'
import { compareUser } from '../../src/users/compare-user.ts'
import { readField, userOf, type WantedUser } from '../../src/users/managed-fields.ts'
import { readUsersPlan, saveUsersPlan, usersPlan } from '../../src/users/users-plan-file.ts'
import { failureOf, textInput } from '../bulk/input/text-input.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { anyEntry, anyServiceUser, anyWantedUser, hashesOf } from './any-users.ts'

const email = 'ada@example.com'

describe('the managed fields of a user', () => {
  it('can be turned back into the user', () =>
    fc.assert(
      fc.property(anyWantedUser, ({ email: _, ...wanted }) => {
        const { metadata, settings, ...rest } = wanted
        const kept = {
          ...rest,
          ...(metadata && Object.keys(metadata).length > 0 && { metadata }),
          ...(settings && Object.keys(settings).length > 0 && { settings }),
        }
        expect(JSON.stringify(managedFieldsOf(kept))).to.equal(JSON.stringify(managedFieldsOf(wanted)))
        expect(userOf(managedFields({ ...wanted }))).to.deep.equal(kept)
      }),
    ))

  it('have equal hashes if and only if the values are equal', () =>
    fc.assert(
      fc.property(anyWantedUser, anyWantedUser, (one, other) => {
        const others = managedFields(other)
        for (const [path, value] of managedFields(one)) {
          if (!others.has(path)) continue
          const isSame = hashOfField(path, value) === hashOfField(path, others.get(path))
          expect(isSame).to.equal(isSameField(path, value, others.get(path)))
        }
      }),
    ))

  it('have hashes that never change, because state files contain them', () => {
    expect(hashOfField('name', 'Ada')).to.equal('o5r-7X0zGSE')
    const shown = hashOfField('permissions', ['write:chat', 'read:chat', 'read:chat'])
    expect(shown).to.equal(hashOfField('permissions', ['read:chat', 'write:chat']))
  })
})

function managedFieldsOf(user: Omit<WantedUser, 'email'>): [string, unknown][] {
  return [...managedFields(user)]
}

describe('the comparison of a user', () => {
  it('finds no difference after its changes were applied', () =>
    fc.assert(
      fc.property(anyWantedUser, anyEntry, anyServiceUser, (wanted, entry, user) => {
        const { fields } = compareUser(wanted, entry, { user })
        const after = applied(user, new Map(fields.map(({ path, to }) => [path, to])))
        const sent = { ...entry, hashes: { ...entry.hashes, ...hashesOf(wanted) } }
        expect(compareUser(wanted, sent, { user: after })).to.include({ action: 'none' })
        expect(compareUser(wanted, sent, 'unread')).to.include({ action: 'unread' })
      }),
    ))

  it('reports a field as drifted only if the known hash differs from both values', () =>
    fc.assert(
      fc.property(anyWantedUser, anyEntry, anyServiceUser, (wanted, entry, user) => {
        const { fields } = compareUser(wanted, entry, { user })
        for (const { path, from, to, basis, drifted } of fields) {
          const hash = entry.hashes[path]
          const isForeign =
            basis === 'service' &&
            hash !== undefined &&
            hash !== hashOfField(path, from) &&
            !isSameField(path, from, to)
          expect(drifted).to.equal(isForeign)
        }
      }),
    ))

  it('contains every readable field whose value on the service is another one', () =>
    fc.assert(
      fc.property(anyWantedUser, anyEntry, anyServiceUser, (wanted, entry, user) => {
        const found = compareUser(wanted, entry, { user }).fields.map(({ path }) => path)
        for (const [path, value] of managedFields(wanted)) {
          if (path === 'role' || path === 'permissions') continue
          expect(found.includes(path)).to.equal(!isSameField(path, value, readField(user, path)))
        }
      }),
    ))

  it('ignores the order and repetition of permissions', () => {
    const entry = { id: 'usr_1', hashes: hashesOf({ email, permissions: ['a:b', 'c:d'] }) }
    const wanted = { email, permissions: ['c:d', 'a:b', 'c:d'] }
    expect(compareUser(wanted, entry, { user: {} }).action).to.equal('none')
    expect(compareUser({ email, permissions: ['c:d'] }, entry, { user: {} }).fields).to.deep.equal([
      { path: 'permissions', from: undefined, to: ['c:d'], basis: 'last_sent', drifted: false },
    ])
  })

  it('does not guess the value of a role of which nothing is known', () => {
    const entry = { id: 'usr_1', hashes: {} }
    const user = { role: 'admin', permissions: ['a:b'] }
    expect(compareUser({ email, role: 'admin' }, entry, { user }).fields).to.deep.equal([
      { path: 'role', from: undefined, to: 'admin', basis: 'unknown', drifted: false },
    ])
  })

  it('treats null as no value, because a service may remove a key that is set to null', () => {
    const entry = { id: 'usr_1', hashes: hashesOf({ email, metadata: { team: null } }) }
    const wanted = { email, metadata: { team: null } }
    expect(compareUser(wanted, entry, { user: {} }).action).to.equal('none')
    expect(compareUser(wanted, entry, { user: { metadata: { team: 'x' } } }).fields).to.deep.equal([
      { path: 'metadata.team', from: 'x', to: null, basis: 'service', drifted: true },
    ])
  })

  it('creates a user that is not in the state, with all fields', () => {
    const difference = compareUser({ email, name: 'Ada', role: 'admin' }, undefined, 'unread')
    expect(difference).to.include({ action: 'create', id: undefined })
    expect(difference.fields.map(({ path }) => path)).to.deep.equal(['name', 'role'])
  })

  it('never creates a user whose creation has an unknown outcome', () => {
    const wanted = { email, name: 'Ada' }
    const unknown = { id: undefined, creation: 'unknown' as const, hashes: {} }
    expect(compareUser(wanted, unknown, 'unread').action).to.equal('unknown')
    expect(compareUser(wanted, { ...unknown, creation: 'nameless' }, 'unread').action).to.equal('unknown')
    expect(compareUser(wanted, { id: undefined, hashes: {} }, 'missing').action).to.equal('unknown')
  })

  it('reports the user behind an id as missing, or as failed if it could not be read', () => {
    const entry = { id: 'usr_1', hashes: {} }
    const failure = new Failure('server_error', 'down')
    expect(compareUser({ email, name: 'Ada' }, entry, 'missing')).to.include({ action: 'missing' })
    expect(compareUser({ email, name: 'Ada' }, entry, { failure })).to.include({
      action: 'failed',
      error: failure,
    })
  })

  it('refuses to compare a user with another email', () => {
    const entry = { id: 'usr_1', hashes: {} }
    const other = compareUser({ email, name: 'Ada' }, entry, { user: { email: 'eve@example.com' } })
    expect(other).to.include({ action: 'failed' })
    expect(other.error?.message).to.equal(
      'The user "usr_1" has the email "eve@example.com" on the service, not "ada@example.com"',
    )
  })
})

/** The user after a service has set each field. */
function applied(user: User, changes: ReadonlyMap<string, unknown>): User {
  const { metadata = {}, settings = {}, ...rest } = userOf(changes)
  return {
    ...user,
    ...rest,
    metadata: Object.fromEntries([...Object.entries(user.metadata ?? {}), ...Object.entries(metadata)]),
    settings: { ...user.settings, ...settings },
  }
}

const header = {
  id: '0c7b3c9e-3f0b-4a52-9d60-d2cbe1a3f6a1',
  created_at: '2026-01-02T03:04:05Z',
  tool: '1.2.3',
  service: 'https://chat.example',
  state: 'users.state.json',
  serial: 7,
}

const anyPlan = fc
  .array(fc.tuple(anyWantedUser, fc.option(anyEntry, { nil: undefined }), anyServiceUser, fc.boolean()), {
    maxLength: 4,
  })
  .map((users) => {
    const building = new UsersPlanBuilder({ recreateMissing: false, retryUnknown: false })
    for (const [wanted, entry, user, isRecorded] of users) {
      building.add({
        wanted,
        difference: compareUser(wanted, entry && { ...entry, ...(isRecorded && { ids: [] }) }, { user }),
      })
    }
    return building.finish([{ email: 'old@example.com', id: 'usr_9' }])
  })

describe('a saved plan of users', () => {
  const directory = perTest(makeEmptyDirectory)
  const read = async (text: string) =>
    readUsersPlan({ ...textInput('jsonl', text), name: 'users.plan' }, '1.2.3')

  it('contains everything that applying it needs', () =>
    fc.assert(
      fc.asyncProperty(anyPlan, async (plan) => {
        const path = join(directory.path, 'users.plan')
        await saveUsersPlan(path, header, plan)
        const { users, unmanaged, counts, header: kept } = await read(readFileSync(path, 'utf8'))
        expect(kept).to.deep.equal(header)
        expect(contentOf({ users, unmanaged, counts })).to.equal(contentOf(plan))
      }),
    ))

  it('is private, and replaces another plan, but no other file', async () => {
    const path = join(directory.path, 'users.plan')
    const empty = { users: [], unmanaged: [], counts: countsOf(0) }
    await saveUsersPlan(path, header, empty)
    await saveUsersPlan(path, header, empty)
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    writeFileSync(path, '{"format":"notes"}')
    expect(await failureOf(() => saveUsersPlan(path, header, empty))).to.include({ kind: 'refused' })
    expect(readFileSync(path, 'utf8')).to.equal('{"format":"notes"}')
  })

  it('is refused if any byte was changed, or its end is missing', async () => {
    const path = join(directory.path, 'users.plan')
    const building = new UsersPlanBuilder({ recreateMissing: false, retryUnknown: false })
    const wanted = { email: 'ada@example.com', name: 'Ada', role: 'admin' }
    building.add({ wanted, difference: compareUser(wanted, undefined, 'unread') })
    await saveUsersPlan(path, header, building.finish([]))
    const text = readFileSync(path, 'utf8')
    await read(text)
    await fc.assert(
      fc.asyncProperty(fc.nat(text.length - 2), fc.boolean(), async (at, isCut) => {
        const other = text.charAt(at) === 'x' ? 'y' : 'x'
        const changed = isCut ? text.slice(0, at) : text.slice(0, at) + other + text.slice(at + 1)
        expect((await failureOf(() => read(changed))).kind).to.be.oneOf(['refused', 'conflict'])
      }),
    )
  })

  it('is refused in another format', async () => {
    const text = composePlan(usersPlan, { ...header, tool: '9.0.0', ...{ v: 2 } })
    const { kind, message } = await failureOf(() => read(text))
    expect(kind).to.equal('conflict')
    expect(message).to.equal('The plan users.plan was made by chatctl 9.0.0, but this is chatctl 1.2.3')
  })
})

function countsOf(create: number) {
  return {
    create,
    change: 0,
    adopt: 0,
    unchanged: 0,
    drifted: 0,
    missing: 0,
    unknown: 0,
    failed: 0,
    unread: 0,
    unmanaged: 0,
  }
}

/** A metadata object without a key has no field. */
function contentOf({ users, unmanaged, counts }: Pick<UsersPlan, 'users' | 'unmanaged' | 'counts'>): string {
  const fields = users.map(({ wanted, difference }) => [[...managedFields(wanted)], wanted.email, difference])
  return JSON.stringify({ fields, unmanaged, counts })
}
