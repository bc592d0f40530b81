import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** `npm run test:update` rewrites the golden files of the tests. Review the differences before you commit them. */

const root = resolve(import.meta.dirname, '..')
const tests = globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/node_modules/**'] }).filter((path) =>
  readFileSync(join(root, path), 'utf8').includes("/golden.ts'"),
)
const mocha = join(root, 'node_modules/mocha/bin/mocha.js')
// As in `npm run test:file`: a slow machine needs more than the timeout of `npm test`.
const args = [mocha, '--timeout', '120000', '--grep', 'golden file', ...tests]
const { status } = spawnSync(process.execPath, args, {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, CHATCTL_UPDATE_GOLDEN: '1' },
})
process.exitCode = status ?? 1
