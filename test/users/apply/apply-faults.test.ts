import { expect } from 'chai'
import fc from 'fast-check'
import { hashOfField, managedFields } from '../../../src/contract/managed-fields.ts'
import { readField, type WantedUser } from '../../../src/users/managed-fields.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'
import { createRandom } from '../../support/random.ts'
import { ApplyTrial, isExpectedEnd } from './apply-trial.ts'

const values = fc.constantFrom('a', 'b', 5, true)

const anyUser = fc.record(
  {
    name: fc.constantFrom('Ada', 'Bob'),
    metadata: fc.dictionary(fc.constantFrom('company', 'seats'), values, { minKeys: 1 }),
    settings: fc.record({ theme: fc.constantFrom('dark', 'light') }),
    role: fc.constantFrom('admin', 'member'),
    permissions: fc.constantFrom<string[]>(['read:chat'], ['read:chat', 'write:chat']),
  },
  { requiredKeys: [] },
)

const anyFile: fc.Arbitrary<WantedUser[]> = fc
  .array(anyUser, { minLength: 1, maxLength: 8 })
  .map((users) => users.map((user, index) => ({ ...user, email: `u${index}@example.com` })))

const anyRun = fc.record({ file: anyFile, killAfter: fc.option(fc.nat({ max: 30 }), { nil: undefined }) })

/** Every user of the service is in the state once, and no hash is of a value that the service does not have. */
async function expectAgreement(trial: ApplyTrial): Promise<void> {
  const entries = await trial.entries()
  const emails = [...trial.service.users.values()].map(({ email }) => email)
  expect(emails, 'no user twice').to.deep.equal([...new Set(emails)])
  const known = new Set(entries.map(({ email }) => email))
  const added = trial.service.added
  const shown = emails.filter((email) => !known.has(email) && !added.has(email))
  expect(shown, 'forgotten users').to.deep.equal([])
  for (const { email, id, hashes } of entries) {
    if (id === undefined) continue
    const user = trial.service.users.get(id)
    expect(user?.email).to.equal(email)
    for (const field of ['role', 'permissions', 'name'] as const) {
      if (hashes[field] === undefined) continue
      expect(hashes[field], `${field} of ${email}`).to.equal(hashOfField(field, user?.[field]))
    }
  }
}

describe('applying users to a service that loses responses', function () {
  this.timeout(120_000)
  const directory = perTest(makeEmptyDirectory)

  it('creates no user twice and forgets none, also if it is killed at any write', async () => {
    let kills = 0
    let unknowns = 0
    await fc.assert(
      fc.asyncProperty(fc.array(anyRun, { minLength: 1, maxLength: 4 }), fc.nat(), async (runs, seed) => {
        const random = createRandom(seed)
        const trial = new ApplyTrial(directory.path, random)
        if (random() < 0.3) trial.service.add({ email: 'u1@example.com' })
        trial.service.faults = ['lost', '429', '500', '422', 'nameless']
        for (const { file, killAfter } of runs) {
          const { ended } = await trial.run(file, killAfter === undefined ? {} : { killAfter })
          if (!isExpectedEnd(ended)) throw ended
          if (killAfter !== undefined) kills++
          await trial.service.settled()
          await expectAgreement(trial)
        }

        // As the output advises: adopt the users that exist, and create the others again.
        const state = await trial.openState()
        for (const { email, creation } of [...state.entries()]) {
          if (creation === undefined) continue
          unknowns++
          const [found] = trial.service.withEmail(email)
          if (found) state.note({ email, id: found.id, hashes: {} })
        }
        for (const [email, id] of trial.service.added) state.note({ email, id, hashes: {} })
        await state.close()
        trial.service.faults = []
        const file = runs.at(-1)?.file ?? []
        const { outcomes, ended } = await trial.run(file, { retries: () => true })
        if (ended !== undefined) throw ended
        expect(outcomes.map(({ status }) => status)).to.satisfy((statuses: string[]) =>
          statuses.every((status) => ['created', 'changed'].includes(status)),
        )
        await expectAgreement(trial)
        for (const wanted of file) {
          const [user, ...others] = trial.service.withEmail(wanted.email)
          expect(others).to.deep.equal([])
          for (const [path, value] of managedFields(wanted))
            expect(readField({ ...user }, path), path).to.deep.equal(value)
        }

        trial.service.requests.length = 0
        const last = await trial.run(file)
        expect([last.planned, trial.service.requests]).to.deep.equal([[], []])
      }),
      { numRuns: 20, seed: 19 },
    )
    expect(kills).to.be.above(20)
    expect(unknowns).to.be.above(10)
  })
})
