import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'

const worker = fileURLToPath(new URL('../system/lock-worker.ts', import.meta.url))

describe('a process lock under contention', () => {
  const directory = perTest(makeEmptyDirectory)

  it('is held by one process at a time, also while others remove and create its file', async () => {
    const words = [worker, 'contend', join(directory.path, 'a.lock'), '1000']
    const exits = [1, 2, 3, 4].map(() =>
      once(spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'inherit'] }), 'exit'),
    )
    for (const [code] of await Promise.all(exits)) expect(code).to.equal(0)
  })
})
