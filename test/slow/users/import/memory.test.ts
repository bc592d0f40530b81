import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { takesAll } from '../../../support/take-sample.ts'

/** The flags that `keepHeapSmall` sets. Without them, V8 lets garbage grow into all the memory it has. */
const flags = ['--semi-space-growth-factor=1', '--heap-growing-percent=150']

/** Maximum ratio to the memory for a twentieth of the rows: their emails are kept. */
const bound = 1.8

const checkAlone = fileURLToPath(import.meta.resolve('./check-alone.ts'))

const row = (index: number): object => ({
  email: `user-${index}@example.com`,
  name: `User Number ${index}`,
  metadata: { company: `Company ${index}` },
  permissions: ['read:chat', 'write:chat'],
})

const writers = {
  csv: (count: number) =>
    `email,name,metadata.company,permissions\n${list(count, (index) => `user-${index}@example.com,User Number ${index},"Company ${index}",read:chat;write:chat\n`).join('')}`,
  jsonl: (count: number) => list(count, (index) => `${JSON.stringify(row(index))}\n`).join(''),
}

function list<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

describe('checking an import file', function () {
  this.timeout(300_000)
  let directory: string
  before(function () {
    // Memory is read from /proc.
    if (process.platform !== 'linux') this.skip()
    directory = mkdtempSync(join(tmpdir(), 'chatctl-memory-'))
  })
  after(() => {
    if (directory) rmSync(directory, { recursive: true, force: true })
  })

  /** Peak memory, in bytes, of a separate process. */
  function peakOf(format: keyof typeof writers, count: number): number {
    const path = join(directory, `${count}.${format}`)
    writeFileSync(path, writers[format](count))
    const { stdout, stderr } = spawnSync(process.execPath, [...flags, checkAlone, path], {
      encoding: 'utf8',
    })
    const { rows, peak } = JSON.parse(stdout || `"${stderr}"`)
    expect(rows).to.equal(count)
    return peak
  }

  const counts: [keyof typeof writers, number][] = [
    ['csv', 100_000],
    ['jsonl', 100_000],
  ]
  for (const [format, many] of counts) {
    it(`uses little memory for each row (${format})`, function () {
      if (format !== 'csv' && !takesAll) this.skip()
      const [few, all] = [peakOf(format, many / 20), peakOf(format, many)]
      expect(all / few).to.be.below(bound)
    })
  }
})
