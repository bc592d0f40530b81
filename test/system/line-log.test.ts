import fs, { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { systemClock } from '../../src/system/clock.ts'
import { LineLog } from '../../src/system/files/line-log.ts'
import { linesBackward, linesWith } from '../../src/system/files/shared-lines.ts'
import { LogWriter } from '../../src/system/log-writer.ts'
import { codePoint } from '../support/code-point.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { createSandbox } from '../support/sandbox.ts'
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

  it('has all lines in their order after some writes have failed', () =>
    fc.assert(
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
    ))

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

describe('the writer of a log', () => {
  it('drops lines while 1 MiB waits for the reader, and says how many before the next line', async () => {
    const read: string[] = []
    let next: (() => void) | undefined
    const stream = new Writable({
      decodeStrings: false,
      write(chunk, _encoding, done) {
        read.push(chunk)
        next = done
      },
    })
    const log = new LogWriter(stream, { ...systemClock, now: () => 1000 })
    const line = `${'x'.repeat(99_999)}\n`
    const write = (lines: number) => {
      for (let written = 0; written < lines; written++) log.write(line)
    }
    const readOn = async (chunks = Number.POSITIVE_INFINITY) => {
      for (let done = next; done && chunks > 0; done = next, chunks--) {
        next = undefined
        done()
        await new Promise(setImmediate)
      }
    }
    const report = (dropped: number) =>
      `{"level":40,"time":1000,"dropped":${dropped},"msg":"lines of this log were dropped, because nothing read it"}\n`
    write(25)
    expect(stream.writableLength).to.equal(1_000_000)
    // A reader that is slower than the log never reads all of it.
    await readOn(2)
    write(2)
    await readOn()
    expect(read.splice(0)).to.deep.equal([...Array(10).fill(line), report(15) + line, line])
    write(11)
    await readOn()
    expect(read.splice(0)).to.deep.equal([...Array(10).fill(line), report(1)])
    write(10)
    await readOn()
    expect(read).to.deep.equal(Array(10).fill(line))
  })
})

describe('a file of lines that several processes write', () => {
  const sandbox = perTest(createSandbox)
  const path = () => join(sandbox.home, 'lines')
  const open = () => new LineLog({ path: path(), isShared: true, failureOf: (cause) => cause as Error })
  const texts = (lines: Iterable<{ text: string }>) =>
    Array.from(lines, ({ text }) => text).filter((text) => text !== '')

  it('has no lines if it is missing or empty', () => {
    expect([...linesWith(path(), ['a']), ...linesBackward(path())]).to.deep.equal([])
    writeFileSync(path(), '')
    expect([...linesWith(path(), ['a']), ...linesBackward(path())]).to.deep.equal([])
  })

  it('is read in both directions, also across chunks, with the offset of each line', () => {
    // Lengths from 1 to a line that is longer than a chunk.
    const lines = [
      ...Array.from({ length: 700 }, (_, n) => `${n} ${'é'.repeat(n)}`),
      'x'.repeat(300_000),
      'y',
    ]
    const text = lines.map((line) => `${line}\n`).join('')
    writeFileSync(path(), `${text}incomplete`)
    expect(texts(linesBackward(path())).reverse()).to.deep.equal(lines)
    expect(texts(linesWith(path(), [' ', 'x', 'y']))).to.deep.equal(lines)
    const bytes = Buffer.from(text)
    for (const found of [...linesWith(path(), ['é', 'yy', 'xx']), ...linesBackward(path())])
      expect(bytes.toString('utf8', found.at, found.at + Buffer.byteLength(found.text))).to.equal(found.text)
    expect(texts(linesWith(path(), ['69 ']))).to.deep.equal(lines.filter((line) => /69 /.test(line)))
  })

  it('gets whole lines after those that another process has left incomplete, at any time', async () => {
    const [one, other] = [open(), open()]
    one.append('one')
    other.append('other')
    await Promise.all([one.flush(), other.flush()])
    appendFileSync(path(), '{"torn')
    one.append('two')
    await one.flush()
    appendFileSync(path(), '{"torn')
    other.appendNow('last')
    for (const log of [one, other]) log.close()
    expect(texts(linesBackward(path())).reverse()).to.deep.equal([
      ...['one', 'other', '{"torn', 'two', '{"torn', 'last'],
    ])
  })
})
