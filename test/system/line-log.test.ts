import fs, { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { LineLog } from '../../src/system/files/line-log.ts'
import { codePoint } from '../support/code-point.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { failing } from './failing.ts'
import { replacingCalls } from './replacing-calls.ts'

describe('a log of lines', () => {
  const directory = perTest(makeEmptyDirectory)
  let logs = 0
  const open = (): { log: LineLog; path: string } => {
    const path = join(directory.path, `${++logs}.log`)
    return { path, log: new LineLog({ path, failureOf: (cause) => cause as Error }) }
  }

  const line = fc.string({ unit: codePoint }).map((text) => text.replaceAll('\n', ''))
  const step = fc.oneof(
    { weight: 3, arbitrary: line.map((text) => ({ do: 'append' as const, text })) },
    { weight: 1, arbitrary: fc.constant({ do: 'end turn' as const }) },
    { weight: 1, arbitrary: fc.constant({ do: 'flush' as const }) },
    { weight: 1, arbitrary: fc.constant({ do: 'flush to a full disk' as const }) },
    { weight: 1, arbitrary: fc.constant({ do: 'flush and fail to truncate' as const }) },
  )

  it('has all lines in their order after some writes have failed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step), async (steps) => {
        const { log, path } = open()
        const lines: string[] = []
        let flushed = 0
        for (const taken of steps) {
          if (taken.do === 'append') {
            lines.push(taken.text)
            log.append(taken.text)
          } else if (taken.do === 'end turn') await endOfTurn()
          else if (taken.do === 'flush') {
            await log.flush()
            flushed = lines.length
          } else {
            const flush = () => failing.call('writeSync', () => log.flush().catch(() => {}))
            await (taken.do === 'flush to a full disk' ? flush() : failing.call('ftruncateSync', flush))
          }
          if (flushed > 0) {
            const bytes = readFileSync(path)
            const whole = lines.map((text) => `${text}\n`)
            expect(Buffer.from(whole.join('')).subarray(0, bytes.length).equals(bytes)).to.equal(true)
            expect(bytes.toString().startsWith(whole.slice(0, flushed).join(''))).to.equal(true)
          }
        }
        log.close()
        if (lines.length > 0)
          expect(readFileSync(path, 'utf8')).to.equal(lines.map((text) => `${text}\n`).join(''))
      }),
      { numRuns: 100 },
    )
  })

  it('never confirms a line after a flush has failed, because the system reports the error only once', async () => {
    const { log, path } = open()
    log.append('one')
    await log.flush()
    log.append('two')
    const failures = await failing.flush(() => Promise.all([failureOf(log.flush()), failureOf(log.flush())]))
    expect(failures.map(({ message }) => message)).to.deep.equal(['disk full', 'disk full'])
    expect(await failureOf(log.flush())).to.equal(failures[0])
    log.append('three')
    expect(await failureOf(log.flush())).to.equal(failures[0])
    expect(log.isBroken).to.equal(true)
    log.close()
    expect(readFileSync(path, 'utf8')).to.equal('one\ntwo\nthree\n')
  })

  it('flushes once for requests of consecutive turns of the event loop, and waits for no other lines', async () => {
    const { log, path } = open()
    const real = fs.fdatasync
    const flushed: string[] = []
    const fdatasync = (file: number, done: fs.NoParamCallback) => {
      flushed.push(readFileSync(path, 'utf8'))
      real(file, done)
    }
    await replacingCalls({ fdatasync }, async () => {
      const flushes: Promise<void>[] = []
      for (const text of ['one', 'two', 'three', 'four', 'five']) {
        log.append(text)
        if (flushes.length < 3) flushes.push(log.flush())
        await endOfTurn()
      }
      await Promise.all(flushes)
    })
    expect(flushed).to.deep.equal(['one\ntwo\nthree\nfour\n'])
  })

  it('closes the file when the flush in progress has ended', async () => {
    const { log } = open()
    const real = fs.fdatasync
    const held = Promise.withResolvers<() => void>()
    const fdatasync = (file: number, done: fs.NoParamCallback) => held.resolve(() => real(file, done))
    await replacingCalls({ fdatasync }, async () => {
      log.append('one')
      const flushed = log.flush()
      const release = await held.promise
      log.append('two')
      const late = failureOf(log.flush())
      log.close()
      expect((await late).message).to.equal('The log was closed before it was flushed')
      release()
      await flushed
    })
  })

  it('confirms no line after it was closed or removed', async () => {
    for (const end of ['close', 'remove'] as const) {
      const { log } = open()
      log.append('one')
      const flushed = failureOf(log.flush())
      log[end]()
      expect((await flushed).message).to.equal('The log was closed before it was flushed')
      expect(() => log.append('two')).to.throw('The log is closed')
    }
  })

  it('is removed even if its last lines cannot be written', async () => {
    const { log, path } = open()
    log.append('one')
    await failing.call('writeSync', () => log.remove())
    expect(() => readFileSync(path)).to.throw('ENOENT')
  })
})

/** The reason of a promise that must be rejected. */
function failureOf(flushed: Promise<void>): Promise<Error> {
  return flushed.then(
    () => expect.fail('the lines were confirmed'),
    (error: Error) => error,
  )
}
