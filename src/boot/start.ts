import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from '@oclif/core/command'
import { keepHeapSmall } from './bound-heap.ts'
import { keepCodeCaches, loadBundle } from './load-bundle.ts'

// bin/run.js must parse on any Node version; all code after it requires a supported one.

/** A bundle that has the program with some or all of its commands. */
type Program = typeof import('./main.ts') & { loadCommand(id: string): Command.Class }

const argv = process.argv.slice(2)
const { main, loadCommand } = loadBundle(argv[0] === 'chat' ? 'chat' : 'main') as Program

void main(argv, pathToFileURL(join(__dirname, '../')), {
  keepHeapSmall,
  loadCommand,
  onEnd: keepCodeCaches,
})
