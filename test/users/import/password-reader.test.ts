import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { InputRow } from '../../../src/users/input/input-row.ts'
import { PasswordReader } from '../../../src/users/results/password-reader.ts'
import { ResultsWriter } from '../../../src/users/results/results-file.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'

describe('the passwords in a results file', () => {
  const directory = perTest(makeEmptyDirectory)

  it('can be read back, whatever error text the service returned', async () => {
    const error = fc.string({
      unit: fc.constantFrom('a', '"', ',', '\n', '\r', '\u2028', '\u2029', '\u0085'),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(error, { minLength: 1, maxLength: 5 }),
        fc.constantFrom('csv' as const, 'jsonl' as const),
        async (errors, format) => {
          const path = join(directory.path, `results.${format}`)
          const writer = new ResultsWriter(path, true)
          const emailOf = (index: number) => `user${index}@example.com`
          await writer.write(
            errors.map((error, index) => ({
              ...{ line: index + 2, email: emailOf(index), id: '', status: 'failed' as const },
              ...{ error, password: `password-${index}` },
            })),
          )
          await writer.finish()
          const passwords = new PasswordReader(path, true)
          for (const index of errors.keys()) {
            const row: InputRow = {
              ...{ index, line: index + 2, row: { email: emailOf(index) }, faults: [], raw: '' },
            }
            expect(await passwords.of(row)).to.equal(`password-${index}`)
          }
          await passwords.end()
        },
      ),
      { numRuns: 60 },
    )
  })
})
