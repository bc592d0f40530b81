import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { expect } from 'chai'

const root = resolve(import.meta.dirname, '../..')

/** Set by `npm run test:update`, which runs the tests that have "golden file" in their titles. */
export const updatesGoldenFiles = process.env['CHATCTL_UPDATE_GOLDEN'] === '1'
export const howToUpdate = 'If this change is intended, run: npm run test:update'

export function expectGolden(path: string, text: string): void {
  if (updatesGoldenFiles) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  const golden = existsSync(path) ? readFileSync(path, 'utf8') : ''
  expect(text, `${relative(root, path)} differs. ${howToUpdate}`).to.equal(golden)
}
