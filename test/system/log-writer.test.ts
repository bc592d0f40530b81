import { Writable } from 'node:stream'
import { expect } from 'chai'
import { systemClock } from '../../src/system/clock.ts'
import { LogWriter } from '../../src/system/log-writer.ts'

describe('the writer of a log', () => {
  it('drops lines while 1 MiB waits for the reader, and then says how many, once', () => {
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
    const readAll = async () => {
      while (next) {
        const done = next
        next = undefined
        done()
        await new Promise(setImmediate)
      }
    }
    return (async () => {
      for (let written = 0; written < 25; written++) log.write(line)
      expect(stream.writableLength).to.equal(1_000_000)
      await readAll()
      expect(read.splice(0)).to.deep.equal([
        ...Array(10).fill(line),
        '{"level":40,"time":1000,"dropped":15,"msg":"lines of this log were dropped, because nothing read it"}\n',
      ])
      for (let written = 0; written < 10; written++) log.write(line)
      await readAll()
      expect(read).to.deep.equal(Array(10).fill(line))
    })()
  })
})
