import { join } from 'node:path'
import { expect } from 'chai'
import { GeneratedPasswords } from '../../src/users/results/generated-passwords.ts'
import { type RowStatus, readResults, writeResults } from '../../src/users/results/results-file.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'

const email = 'Ada@example.com'
const result = (status: RowStatus) => ({ line: '2', email, id: '', status, error: '' })

interface Case {
  /** The status in the file, with the password `old`; undefined if the file does not exist. */
  before?: RowStatus
  mayHaveSent?: boolean
  /** The status in the end. */
  status: RowStatus
  /** Whether a create was about to be sent, and whether it got an outcome. */
  isBegun?: boolean
  isSettled?: boolean
  isTaken?: boolean
  /** The password that was sent, and the row in the end. */
  sent?: string
  expected: [status: RowStatus, password: string]
}

const cases: Record<string, Case> = {
  'of a create': { status: 'created', isSettled: true, sent: 'new', expected: ['created', 'new'] },
  'of a create without a response': {
    status: 'unknown',
    isSettled: true,
    sent: 'new',
    expected: ['unknown', 'new'],
  },
  'of a refused create': { status: 'failed', isSettled: true, sent: 'new', expected: ['failed', ''] },
  'of an email that another user has': {
    ...{ status: 'failed', isSettled: true, isTaken: true, sent: 'new', expected: ['failed', ''] },
  },
  'of a create that was not sent': {
    status: 'skipped',
    isBegun: true,
    sent: 'new',
    expected: ['skipped', ''],
  },
  'of a create that may have been sent without the file': {
    ...{ mayHaveSent: true, status: 'created', isSettled: true, expected: ['created', ''] },
  },
  'of a killed run, whose user was created': {
    ...{ before: 'unknown', mayHaveSent: true, status: 'created', expected: ['created', 'old'] },
  },
  'of a killed run, if another command created the user': {
    ...{ before: 'unknown', status: 'created', expected: ['created', ''] },
  },
  'of a killed run, if the next one ends early': {
    before: 'unknown',
    status: 'skipped',
    expected: ['unknown', 'old'],
  },
  'of a killed run, if the next one ends while it waits': {
    ...{ before: 'unknown', status: 'skipped', isBegun: true, sent: 'old', expected: ['unknown', 'old'] },
  },
  'of a killed run, if the next one creates the user': {
    ...{ before: 'unknown', status: 'created', isSettled: true, sent: 'old', expected: ['created', 'old'] },
  },
  'of a killed run, if the next one is refused': {
    ...{ before: 'unknown', status: 'failed', isSettled: true, sent: 'old', expected: ['failed', ''] },
  },
  'of a killed run, if the next one finds that its user exists': {
    ...{ before: 'unknown', mayHaveSent: true, status: 'failed', isSettled: true, isTaken: true },
    ...{ sent: 'old', expected: ['failed', 'old'] },
  },
  'of a created user, if the rest of the row is not sent yet': {
    ...{ before: 'skipped', status: 'skipped', expected: ['skipped', 'old'] },
  },
  'of a user whom this machine does not know': {
    ...{ before: 'created', status: 'failed', isSettled: true, isTaken: true },
    ...{ sent: 'old', expected: ['failed', 'old'] },
  },
}

describe('a generated password in a results file', () => {
  const directory = perTest(makeEmptyDirectory)

  for (const [what, { before, mayHaveSent = false, status, expected, sent, ...run }] of Object.entries(cases))
    it(`is ${expected[1] === '' ? 'not named' : 'named'} with the status ${expected[0]}: that ${what}`, async () => {
      const path = join(directory.path, 'results.csv')
      if (before) await writeResults(path, [{ ...result(before), password: 'old' }], true)
      const passwords = new GeneratedPasswords(path, () => 'new')
      passwords.open({ emails: [email], mayHaveSent: () => mayHaveSent })
      if (run.isBegun || run.isSettled) expect(await passwords.passwordOf({ email, line: 2 })).to.equal(sent)
      if (run.isSettled) passwords.settle(result(status), run.isTaken === true)
      await passwords.finish([result(status)])
      const [row, ...others] = readResults(path)
      expect([row?.status, row?.password, others]).to.deep.equal([...expected, []])
    })
})
