import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { keepHeapSmall } from './bound-heap.ts'
import { keepCodeCaches, loadBundle } from './load-bundle.ts'

/** bin/run.js must parse on any Node version; all code after it requires a supported one. */
const { main } = loadBundle('main') as typeof import('./main.ts')

void main(process.argv.slice(2), pathToFileURL(join(__dirname, '../')), {
  onEnd: keepCodeCaches,
  keepHeapSmall,
})
