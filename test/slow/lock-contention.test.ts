import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { takesAll } from '../support/take-sample.ts'

const worker = fileURLToPath(new URL('../system/lock-worker.ts', import.meta.url))

describe('a process lock under contention', () => {
  const directory = perTest(makeEmptyDirectory)

  async function runFour(...words: string[]): Promise<void> {
    const exits = [1, 2, 3, 4].map(() =>
      once(spawn(process.execPath, [worker, ...words], { stdio: ['ignore', 'ignore', 'inherit'] }), 'exit'),
    )
    for (const [code] of await Promise.all(exits)) expect(code).to.equal(0)
  }

  it('is held by one process at a time, also while others remove and create its file', async () => {
    await runFour('contend', join(directory.path, 'a.lock'), takesAll ? '1000' : '250')
  })

  it('keeps all changes of four processes that change one file at the same time', async () => {
    const file = join(directory.path, 'number')
    writeFileSync(file, '0')
    await runFour('count', file, '15')
    expect(readFileSync(file, 'utf8')).to.equal('60')
    expect(readdirSync(directory.path)).to.deep.equal(['number'])
  })
})
