import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { takeAllCells } from '../../support/cells.ts'
import { takeSample } from '../../support/take-sample.ts'

/** Runs the files of `npm test` that omit cells of their tables, with all cells. */

const tests = resolve(import.meta.dirname, '../..')
const exclude = ['{node_modules,slow,programs,release,soak,e2e}/**']
const files = globSync('**/*.ts', { cwd: tests, exclude })
  .filter((file) => /\bsomeCells\(/.test(readFileSync(join(tests, file), 'utf8')))
  .filter((file) => file.endsWith('.test.ts'))
  .sort()

takeAllCells()
// Another file of this process may have set the number of runs.
fc.resetConfigureGlobal()
const { sample, words } = takeSample(files, 4)
describe('tables with all cells', () => {
  it(`include at least one file (files: ${words})`, () => {
    expect(sample).to.have.length.above(0)
  })
})
// Another file of this process may have imported them.
for (const file of sample) await import(`${pathToFileURL(join(tests, file)).href}?cells`)
