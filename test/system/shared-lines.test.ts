import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { LineLog } from '../../src/system/files/line-log.ts'
import { linesBackward, linesWith } from '../../src/system/files/shared-lines.ts'
import { perTest } from '../support/lifetime.ts'
import { createSandbox } from '../support/sandbox.ts'

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
