import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { keepCodeCaches, loadBundle } from './load-bundle.ts'

/** bin/run.js has to stay readable for any Node; from here on it is ours. */
const { main } = loadBundle('main') as typeof import('./main.ts')

void main(process.argv.slice(2), pathToFileURL(join(__dirname, '../')), keepCodeCaches)
