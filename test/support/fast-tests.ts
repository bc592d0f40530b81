import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const tests = resolve(import.meta.dirname, '..')

/** The sources of the tests that `npm test` runs, and of what they share, by their paths in `test`. */
export function readFastTests(): { path: string; text: string }[] {
  return globSync('**/*.ts', { cwd: tests, exclude: ['{node_modules,slow,programs,release,soak}/**'] })
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(resolve(tests, path), 'utf8') }))
}
