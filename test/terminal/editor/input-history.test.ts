import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../src/system/clock.ts'
import { InputHistory } from '../../../src/terminal/editor/input-history.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'

const line = (text: string): string => `${JSON.stringify({ at: '2026-03-01T12:00:00.000Z', text })}\n`
const numbered = (count: number): string =>
  Array.from({ length: count }, (_, index) => line(`entry ${index}`)).join('')

describe('the input history of a session', () => {
  const directory = perTest(makeEmptyDirectory)
  let path: string

  beforeEach(() => {
    path = join(directory.path, 'state', 'recall.jsonl')
  })

  function write(text: string): void {
    mkdirSync(join(directory.path, 'state'), { recursive: true })
    writeFileSync(path, text)
  }

  const lines = (): string[] => readFileSync(path, 'utf8').split('\n').filter(Boolean)

  it('keeps entries with any text for later sessions', () => {
    const entries = ['one', 'two\nlines\twith "quotes"', '世界 👩‍👩‍👧', ' spaces ']
    const recall = new InputHistory(path, systemClock)
    for (const entry of entries) recall.add(entry)
    expect(recall.entries).to.deep.equal(entries)
    expect(new InputHistory(path, systemClock).entries).to.deep.equal(entries)
  })

  it('writes a file that only its owner can read', () => {
    new InputHistory(path, systemClock).add('private')
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    expect(statSync(join(directory.path, 'state')).mode & 0o777).to.equal(0o700)
  })

  it('keeps one of two equal consecutive entries', () => {
    const recall = new InputHistory(path, systemClock)
    for (const entry of ['a', 'a', 'b', 'a']) recall.add(entry)
    new InputHistory(path, systemClock).add('a')
    expect(new InputHistory(path, systemClock).entries).to.deep.equal(['a', 'b', 'a'])
    expect(lines()).to.have.length(3)
  })

  it('skips invalid and truncated lines', () => {
    write(
      `${line('one')}{"at":"2026-03\n\n[1]\nnull\n{"text":5}\n{"text":"  "}\nnot json\n${line('two')}{"at":"2026-03-01","te`,
    )
    const recall = new InputHistory(path, systemClock)
    expect(recall.entries).to.deep.equal(['one', 'two'])
    recall.add('three')
    expect(new InputHistory(path, systemClock).entries).to.deep.equal(['one', 'two', 'three'])
  })

  it('keeps the entries of two sessions at the same time', () => {
    const [one, other] = [new InputHistory(path, systemClock), new InputHistory(path, systemClock)]
    one.add('one')
    other.add('two')
    one.add('three')
    expect(new InputHistory(path, systemClock).entries).to.deep.equal(['one', 'two', 'three'])
  })

  it('removes control characters from entries in the file', () => {
    write(line('a\u001b[2Jb\r\nc'))
    expect(new InputHistory(path, systemClock).entries).to.deep.equal(['a[2Jb\nc'])
  })

  it('keeps at most 1000 entries in memory', () => {
    write(numbered(1_500))
    const recall = new InputHistory(path, systemClock)
    expect(recall.entries).to.have.length(1_000)
    recall.add('more')
    expect(recall.entries).to.have.length(1_000)
    expect(recall.entries[0]).to.equal('entry 501')
    expect(lines()).to.have.length(1_501)
  })

  it('shortens a file of more than 2000 entries to the last 1000', () => {
    write(numbered(2_001))
    const recall = new InputHistory(path, systemClock)
    expect(lines()).to.have.length(1_000)
    expect(lines()[0]).to.equal(line('entry 1001').trim())
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    recall.add('more')
    expect(new InputHistory(path, systemClock).entries.slice(-2)).to.deep.equal(['entry 2000', 'more'])
  })

  it('shortens a file of more than 8 MB to 4 MB', () => {
    const long = 'x'.repeat(2 ** 20)
    write(Array.from({ length: 9 }, (_, index) => line(`${index} ${long}`)).join(''))
    const recall = new InputHistory(path, systemClock)
    expect(recall.entries.map((entry) => entry[0])).to.deep.equal(['6', '7', '8'])
    expect(statSync(path).size).to.be.below(4 * 2 ** 20)
    expect(new InputHistory(path, systemClock).entries).to.deep.equal(recall.entries)
  })

  it('keeps entries in memory if the file cannot be written', () => {
    writeFileSync(join(directory.path, 'file'), '')
    const recall = new InputHistory(join(directory.path, 'file', 'recall.jsonl'), systemClock)
    recall.add('one')
    expect(recall.entries).to.deep.equal(['one'])
  })

  it('is empty if the file cannot be read', () => {
    mkdirSync(path, { recursive: true })
    expect(new InputHistory(path, systemClock).entries).to.deep.equal([])
    chmodSync(directory.path, 0o700)
  })
})
