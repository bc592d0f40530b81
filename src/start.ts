import { mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { cacheFolder } from './config/paths.ts'

/**
 * The compile cache must be on before the modules that it caches are loaded, and bin/run.js has
 * to stay readable for any Node, so this file stands between the two.
 */
try {
  const folder = cacheFolder()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  enableCompileCache(folder)
} catch {
  // A read-only or missing home costs some milliseconds, nothing else.
}

const { main } = await import('./main.ts')
process.exit(await main(process.argv.slice(2), new URL('..', import.meta.url)))
