import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { LineLog } from '../../src/system/line-log.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { failing } from './failing.ts'

describe('a log of lines', () => {
  const directory = perTest(makeEmptyDirectory)
  let logs = 0
  const open = (): { log: LineLog; path: string } => {
    const path = join(directory.path, `${++logs}.log`)
    return { path, log: new LineLog({ path, failureOf: (cause) => cause as Error }) }
  }

  const line = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\n', ''))
  const step = fc.oneof(
    { weight: 3, arbitrary: line.map((text) => ({ do: 'append' as const, text })) },
    { weight: 1, arbitrary: fc.constant({ do: 'end turn' as const }) },
    { weight: 1, arbitrary: fc.constant({ do: 'flush' as const }) },
    { weight: 1, arbitrary: fc.constant({ do: 'flush to a full disk' as const }) },
  )

  it('has all lines in their order after some writes have failed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step), async (steps) => {
        const { log, path } = open()
        const lines: { text: string; offset: number }[] = []
        let flushed = 0
        for (const taken of steps) {
          if (taken.do === 'append') {
            lines.push({ text: taken.text, offset: log.size })
            log.append(taken.text)
          } else if (taken.do === 'end turn') await endOfTurn()
          else if (taken.do === 'flush') {
            await log.flush()
            flushed = lines.length
          } else await failing.call('writeSync', () => log.flush().catch(() => {}))
          if (flushed > 0) {
            const text = readFileSync(path, 'utf8')
            const whole = lines.map((written) => `${written.text}\n`)
            expect(whole.join('').startsWith(text)).to.equal(true)
            expect(text.startsWith(whole.slice(0, flushed).join(''))).to.equal(true)
          }
          for (const { text, offset } of lines) expect(log.lineAt(offset)).to.equal(text)
        }
        log.close()
        if (lines.length > 0)
          expect(readFileSync(path, 'utf8')).to.equal(lines.map(({ text }) => `${text}\n`).join(''))
      }),
      { numRuns: 100 },
    )
  })

  it('is removed even if its last lines cannot be written', async () => {
    const { log, path } = open()
    log.append('one')
    await failing.call('writeSync', () => log.remove())
    expect(() => readFileSync(path)).to.throw('ENOENT')
  })
})
