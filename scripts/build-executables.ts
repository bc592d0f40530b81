import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildExecutable } from './executable/build-executable.ts'
import { targets } from './executable/targets.ts'

/**
 * Builds executables that need no Node.js: `npm run executable -- TARGET...`
 *
 * --node FILE       the Node.js binary of the target (default: of the npm package)
 * --emulator WORDS  the command that runs a Node.js binary of the target, for its code caches
 */

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { node: { type: 'string' }, emulator: { type: 'string' } },
})
const { node, emulator } = values
const isUsable = positionals.length > 0 && (positionals.length === 1 || (!node && !emulator))
if (!isUsable) {
  const usage = 'Usage: npm run executable -- [--node FILE] [--emulator WORDS] TARGET...'
  throw new Error(
    `${usage}\nTargets: ${Object.keys(targets).join(', ')}; --node and --emulator are for one target`,
  )
}
for (const name of positionals) {
  const { path, notes } = await buildExecutable(resolve(import.meta.dirname, '..'), name, {
    node: node === undefined ? undefined : resolve(node),
    emulator: emulator?.split(' '),
  })
  process.stdout.write([path, ...notes].join('\n  ').concat('\n'))
}
