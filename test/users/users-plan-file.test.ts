import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { managedFields } from '../../src/contract/managed-fields.ts'
import { composePlan } from '../../src/system/files/saved-plan.ts'
import { type UsersPlan, UsersPlanBuilder } from '../../src/users/apply/users-plan.ts'
import { compareUser } from '../../src/users/compare-user.ts'
import { readUsersPlan, saveUsersPlan, usersPlan } from '../../src/users/users-plan-file.ts'
import { failureOf, textInput } from '../bulk/input/text-input.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { anyEntry, anyServiceUser, anyWantedUser } from './any-users.ts'

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
