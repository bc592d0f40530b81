import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import fc from 'fast-check'
import { readShellLine, renderForBash } from '../../../src/cli/completion/shells.ts'

/** The default COMP_WORDBREAKS of bash. */
const breaks = ' \t\n"\'@><=;|&(:'

const isBashThere = process.platform !== 'win32'

/** Texts with and without characters that bash interprets. */
const text = fc.string({
  unit: fc.constantFrom(...'ab1 \'"\\$`=:@;|&()<>[]{}*?!~#^%,./é日'),
  minLength: 1,
  maxLength: 8,
})

/** The words of each line, as bash splits them. */
function readByBash(lines: readonly string[]): string[][] {
  const script = lines.map((line) => `printf '%s\\0' ${line}; printf '\\n\\0'`).join('\n')
  const output = execFileSync('bash', ['--norc', '-c', `set -f +B; ${script}`], { encoding: 'utf8' })
  const all: string[][] = [[]]
  for (const word of output.split('\0').slice(0, -1)) {
    if (word === '\n') all.push([])
    else all.at(-1)?.push(word)
  }
  return all.slice(0, -1)
}

describe('the command line that bash passes for completion', () => {
  const table: [line: string, words: string[], kept: number, quote?: string][] = [
    ['chatctl chat se', ['chatctl', 'chat', 'se'], 0],
    ['chatctl chat ', ['chatctl', 'chat', ''], 0],
    ['chatctl  settings\tset a=b', ['chatctl', 'settings', 'set', 'a=b'], 2],
    ['chatctl a:b:c', ['chatctl', 'a:b:c'], 4],
    ['chatctl a\\:b', ['chatctl', 'a:b'], 0],
    ['chatctl "trip to', ['chatctl', 'trip to'], 0, '"'],
    ['chatctl --name="trip to', ['chatctl', '--name=trip to'], 7, '"'],
    ["chatctl 'it", ['chatctl', 'it'], 0, "'"],
    ['chatctl trip\\ to', ['chatctl', 'trip to'], 0],
    ['chatctl "a\\"b\\c', ['chatctl', 'a"b\\c'], 0, '"'],
    ["chatctl '' x", ['chatctl', '', 'x'], 0],
    ['', [''], 0],
    ['chatctl x\\', ['chatctl', 'x'], 0],
  ]
  for (const [line, words, kept, quote] of table)
    it(`is split into words: ${JSON.stringify(line)}`, () =>
      expect(readShellLine(line, breaks)).to.deep.equal({ words, kept, quote }))

  it('is read back unchanged by bash after a candidate is quoted and inserted', function () {
    if (!isBashThere) return this.skip()
    const quotes = fc.constantFrom(undefined, '"', "'") as fc.Arbitrary<'"' | "'" | undefined>
    const samples = fc.sample(fc.tuple(text, quotes), 150)
    const lines = samples.map(([value, quote]) => {
      const rendered = renderForBash({ candidates: [{ value }] }, { words: [], quote, kept: 0 })
      const inserted = rendered.split('\n')[1] ?? ''
      return `x ${quote ?? ''}${inserted}${quote ?? ''}`
    })
    const read = readByBash(lines)
    for (const [index, [value]] of samples.entries()) {
      expect(read[index], lines[index]).to.deep.equal(['x', value])
      expect(readShellLine(lines[index] ?? '', breaks).words, lines[index]).to.deep.equal(['x', value])
    }
  })

  it('omits from candidates the part before the last word break', () => {
    const line = readShellLine('chatctl settings set theme.mode=da', breaks)
    expect(renderForBash({ candidates: [{ value: 'theme.mode=dark' }] }, line)).to.equal('words\ndark\n')
  })
})
