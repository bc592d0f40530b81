import { Writable } from 'node:stream'
import { expect } from 'chai'
import { systemClock } from '../../src/system/clock.ts'
import { LogWriter } from '../../src/system/log-writer.ts'

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
