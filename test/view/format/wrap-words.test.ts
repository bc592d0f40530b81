import { expect } from 'chai'
import { wrapWords } from '../../../src/view/format/wrap-words.ts'

describe('words wrapped at the width of a terminal', () => {
  it('are broken between words, at 40 columns', () => {
    const text = 'Compared with the configuration last sent from this machine: no differences'
    expect(wrapWords(text, 40).split('\n')).to.deep.equal([
      'Compared with the configuration last',
      'sent from this machine: no differences',
    ])
  })

  it('keep a command on one line, below the words that lead to it', () => {
    const text = 'Check the current value with: chatctl settings get app_name --profile work'
    expect(wrapWords(text, 40).split('\n')).to.deep.equal([
      'Check the current value with:',
      '  chatctl settings get app_name --profile work',
    ])
    const shown = wrapWords('Allow more time for one attempt with: --timeout 2m', 40).split('\n')
    expect(shown).to.deep.equal(['Allow more time for one attempt with:', '  --timeout 2m'])
    const two = 'For one message: chatctl chat send Hello. To begin a session: chatctl chat -- Hello'
    expect(wrapWords(two, 32).split('\n')).to.deep.equal([
      'For one message:',
      '  chatctl chat send Hello',
      'To begin a session:',
      '  chatctl chat -- Hello',
    ])
    const seen = wrapWords('Error: --fork requires --resume or --continue', 40).split('\n')
    expect(seen).to.deep.equal(['Error: --fork requires --resume or', '--continue'])
    const listed = wrapWords('Error: chatctl chat send is refused, because it must be', 40).split('\n')
    expect(listed).to.deep.equal(['Error: chatctl chat send is refused,', 'because it must be'])
    const command = '  chatctl users import users.csv --on-unknown retry --line 17'
    expect(wrapWords(command, 40)).to.equal(command)
  })

  it('keep a word that is longer than a line, and lines that fit', () => {
    const path = `/home/ada/${'a'.repeat(50)}.csv`
    const shown = wrapWords(`Cannot read ${path}\n\n  two  spaces`, 40)
    expect(shown).to.equal(`Cannot read\n${path}\n\n  two  spaces`)
    expect(wrapWords('one two three', Infinity)).to.equal('one two three')
  })
})
