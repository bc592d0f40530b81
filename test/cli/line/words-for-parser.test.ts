import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { parse } from '@oclif/core/parser'
import { expect } from 'chai'
import { type CompletionTree, suggest } from '../../../src/cli/completion/suggest.ts'
import { optionalTextFlag, textFlag } from '../../../src/cli/flags/flag-types.ts'
import { flagLabel } from '../../../src/cli/help/command-page.ts'
import { markOmittedValues, wordsFromEnvironment } from '../../../src/cli/line/words-for-parser.ts'

const args = { text: Args.string({ ignoreStdin: true }) }
const flags = {
  quiet: Flags.boolean({ char: 'q' }),
  model: textFlag({ char: 'm' }),
  attached: optionalTextFlag({ char: 'x', helpValue: '[=N]' }),
  next: optionalTextFlag({ char: 'r', helpValue: '[NAME]' }),
}

describe('a flag whose value may be omitted', () => {
  const table: [line: string, flags: object, text?: string][] = [
    ['-x Hello', { attached: true }, 'Hello'],
    ['--attached Hello', { attached: true }, 'Hello'],
    ['Hello -x', { attached: true }, 'Hello'],
    ['-x 2', { attached: true }, '2'],
    ['-x2 Hello', { attached: '2' }, 'Hello'],
    ['-x=2 Hello', { attached: '2' }, 'Hello'],
    ['--attached=2 Hello', { attached: '2' }, 'Hello'],
    ['-x -q Hello', { attached: true, quiet: true }, 'Hello'],
    ['-qx Hello', { attached: true, quiet: true }, 'Hello'],
    ['-qx2 Hello', { attached: '2', quiet: true }, 'Hello'],
    ['-x -- -q', { attached: true }, '-q'],
    ['-r Hello', { next: 'Hello' }],
    ['--next=Hello', { next: 'Hello' }],
    ['--next', { next: true }],
    ['--next -q Hello', { next: true, quiet: true }, 'Hello'],
    ['--next --attached=3', { next: true, attached: '3' }],
    ['--next one Hello', { next: 'one' }, 'Hello'],
    ['--next -- Hello', { next: true }, 'Hello'],
    ['--model x -r', { model: 'x', next: true }],
    ['-- -x', {}, '-x'],
    ['', {}],
  ]
  for (const [line, given, text] of table)
    it(`is read in: ${line || 'an empty line'}`, async () => {
      const parsed = await parse(markOmittedValues(line.split(' ').filter(Boolean), flags), { args, flags })
      expect(parsed.flags).to.deep.equal(given)
      expect(parsed.args.text).to.equal(text)
    })

  it('does not become the value of the flag before it', async () => {
    const line = markOmittedValues(['--model', '-x'], flags)
    const error = await parse(line, { args, flags }).catch((error: Error) => error)
    expect(error).to.be.an('error').with.property('message', 'Flag --model expects a value')
  })

  it('does not accept an empty value', async () => {
    for (const line of [['--attached='], ['--next='], ['--next', '']]) {
      const error = await parse(markOmittedValues(line, flags), { args, flags }).catch(
        (error: Error) => error,
      )
      expect(error, line.join(' '))
        .to.be.an('error')
        .with.property('message')
        .that.includes('must not be empty')
    }
  })

  it('shows in the help how its value is given', () => {
    const declared = {
      attached: { ...flags.attached, name: 'attached' },
      next: { ...flags.next, name: 'next' },
    }
    expect(flagLabel(declared.attached)).to.equal('-x, --attached[=N]')
    expect(flagLabel(declared.next)).to.equal('-r, --next [NAME]')
  })

  it('is completed by its value only where the next word may be the value', async () => {
    const named = Object.entries({ ...flags, next: { ...flags.next, options: ['one', 'two'] } }).map(
      ([name, flag]) => [name, { ...flag, name }],
    )
    const command = { id: 'a', args: {}, flags: Object.fromEntries(named) }
    const tree = { commands: [command], topics: [] } as unknown as CompletionTree
    const offered = async (...words: string[]) =>
      (await suggest(words, tree, undefined as never)).candidates.map(({ value }) => value)
    expect(await offered('a', '--next', '')).to.deep.equal(['one', 'two'])
    expect(await offered('a', '--next=')).to.deep.equal(['--next=one', '--next=two'])
    expect(await offered('a', '--next', '--q')).to.deep.equal(['--quiet'])
    expect(await offered('a', '--next', '--', 'o')).to.deep.equal([])
    expect(await offered('a', '--attached', '--q')).to.deep.equal(['--quiet'])
    expect(await offered('a', '--attached', '')).to.deep.equal([])
  })
})

describe('a Boolean flag with a value', () => {
  const known = { json: Flags.boolean(), stream: Flags.boolean({ allowNo: true }), system: textFlag() }

  for (const word of ['--json=true', '--stream=', '--no-stream=1'])
    it(`is rejected: ${word}`, () => {
      const [name] = word.split('=')
      expect(() => markOmittedValues([word], known)).to.throw(`${name} does not take a value`)
    })

  it('is accepted as the value of another flag or after --', () => {
    const words = ['--system', '--json=1', '--system=--json=1', '--unknown=1', 'json=1', '--', '--json=1']
    expect(markOmittedValues(words, known)).to.deep.equal(words)
  })
})

describe('the variable of a flag', () => {
  const known = {
    database: { ...textFlag({ char: 'd', dependsOn: ['service'] }), env: 'D' },
    fields: { ...textFlag(), env: 'F' },
    raw: Flags.boolean({ exclusive: ['fields', 'dry-run'] }),
    service: Flags.boolean(),
    'dry-run': { ...Flags.boolean(), env: 'R' },
  }
  const env = { D: 'of D', F: 'of F', R: '1' }
  const table: [line: string, words: string[]][] = [
    ['--service', ['--database=of D', '--fields=of F', '--dry-run']],
    ['--service --database x', ['--fields=of F', '--dry-run']],
    ['--service -dx --fields=y', ['--dry-run']],
    ['--service -- --database x', ['--database=of D', '--fields=of F', '--dry-run']],
    ['', ['--fields=of F', '--dry-run']],
    ['--raw', ['--dry-run']],
  ]
  for (const [line, words] of table)
    it(`is ignored if the line overrules it: ${line || 'an empty line'}`, () =>
      expect(wordsFromEnvironment(known, line.split(' '), env)).to.deep.equal(words))
})
