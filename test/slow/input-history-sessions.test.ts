import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../src/system/clock.ts'
import { InputHistory } from '../../src/terminal/editor/input-history.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'

const line = (text: string): string => `${JSON.stringify({ at: '2026-03-01T12:00:00.000Z', text })}\n`

describe('the entries that concurrent sessions recall', () => {
  const directory = perTest(makeEmptyDirectory)
  let path: string
  beforeEach(() => {
    mkdirSync(join(directory.path, 'state'))
    path = join(directory.path, 'state', 'recall.jsonl')
  })

  const lines = (): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1)

  it('are all stored, even while one of the sessions shortens the file', async function () {
    this.timeout(60_000)
    // Long entries make shortening slow.
    writeFileSync(
      path,
      Array.from({ length: 1_990 }, (_, index) => line(`${index} ${'x'.repeat(2_000)}`)).join(''),
    )
    const module = new URL('../../src/terminal/editor/input-history.ts', import.meta.url).href
    const clock = new URL('../../src/system/clock.ts', import.meta.url).href
    const program = `
      const { systemClock } = await import(${JSON.stringify(clock)})
      const { InputHistory } = await import(${JSON.stringify(module)})
      const [name, path] = process.argv.slice(1)
      for (let session = 0; session < 20; session++) {
        const recall = InputHistory.open(path, systemClock)
        for (let index = 0; index < 10; index++) recall.add([name, session, index].join(' '))
      }
    `
    const names = ['a', 'b', 'c', 'd']
    const ends = names.map(
      (name) =>
        new Promise((resolve) => {
          const args = ['--input-type=module', '-e', program, name, path]
          spawn(process.execPath, args, { stdio: 'inherit' }).once('close', resolve)
        }),
    )
    expect(await Promise.all(ends)).to.deep.equal([0, 0, 0, 0])
    const written = InputHistory.open(path, systemClock).entries.filter((entry) => !entry.endsWith('x'))
    const expected = names.flatMap((name) =>
      Array.from({ length: 200 }, (_, index) => `${name} ${Math.floor(index / 10)} ${index % 10}`),
    )
    expect([...written].sort()).to.deep.equal(expected.sort())
    expect(lines().length).to.be.below(2_001)
  })
})
