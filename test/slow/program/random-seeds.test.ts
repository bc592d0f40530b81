import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { sampleSeed, takeSample, takesAll } from '../../support/take-sample.ts'

/**
 * Runs the properties of `npm test` with other values. The seed is random, and fast-check prints it with a
 * failure. A sample takes some of the files, with the default of 100 runs and its own seed.
 */

const tests = resolve(import.meta.dirname, '../..')
const exclude = ['{node_modules,slow,programs,release,soak,e2e}/**']
const files = globSync('**/*.test.ts', { cwd: tests, exclude })
  .filter((file) => /from 'fast-check'/.test(readFileSync(join(tests, file), 'utf8')))
  .sort()

fc.configureGlobal(takesAll ? { numRuns: 2_000 } : { seed: sampleSeed })
const { sample, words } = takeSample(files, 4)
describe('property tests with random seeds', () => {
  it(`include at least one file (files: ${words})`, () => {
    expect(sample).to.have.length.above(0)
  })
})
// 2,000 runs of a property take up to two minutes on an idle machine.
beforeEach(function () {
  this.currentTest?.timeout(600_000)
})
for (const file of sample) await import(join(tests, file))
