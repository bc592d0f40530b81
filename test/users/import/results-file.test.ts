import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { readResults, writeResults } from '../../../src/users/results/results-file.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'

describe('a results file', () => {
  const directory = perTest(makeEmptyDirectory)

  it('may be empty or have no rows, but not other columns', () => {
    const path = join(directory.path, 'other.csv')
    for (const text of ['name,phone', 'email,name\n']) {
      writeFileSync(path, text)
      expect(() => readResults(path)).to.throw('is not a results file')
    }
    for (const text of ['', 'line;email;id;status;error\n']) {
      writeFileSync(path, text)
      expect(readResults(path)).to.deep.equal([])
    }
  })

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
          const results = errors.map((error, index) => ({
            ...{ line: String(index + 2), email: `user${index}@example.com`, id: '' },
            ...{ status: 'failed' as const, error, password: `password-${index}` },
          }))
          await writeResults(path, results, true)
          const shown = readResults(path).map(({ email, password }) => [email, password])
          expect(shown).to.deep.equal(results.map(({ email, password }) => [email, password]))
        },
      ),
      { numRuns: 60 },
    )
  })
})
