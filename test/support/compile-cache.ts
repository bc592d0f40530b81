import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

/**
 * Required by .mocharc.json. Otherwise Node strips the types of the sources and compiles them in each worker, and in
 * each process that a test starts from the sources, which takes half of the time to load them.
 */
const { directory } = enableCompileCache(
  join(import.meta.dirname, '../../node_modules/.cache/compiled-tests'),
)
if (directory) process.env['NODE_COMPILE_CACHE'] = directory
