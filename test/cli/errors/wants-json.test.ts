import { expect } from 'chai'
import { wantsJson } from '../../../src/cli/errors/render-error.ts'

describe('the format of an error about an unreadable command line', () => {
  const home = { HOME: '/nonexistent' }

  for (const line of [
    '--json',
    '--output json',
    '--output=jsonl',
    '-o json',
    '-ojson',
    '-o=json',
    '-qo json',
    '-qojson',
    '-qo=json',
    '--jq .id',
    '--jq=.id',
  ])
    it(`is JSON with ${line}`, () =>
      expect(wantsJson(['users', ...line.split(' ')], { env: home, cwd: undefined })).to.equal(true))

  for (const line of ['', '-o yaml', '-- --json', '--json -o yaml'])
    it(`is text with ${line || 'no flag'}`, () =>
      expect(wantsJson(['users', ...line.split(' ')], { env: home, cwd: undefined })).to.equal(false))

  it('follows CHATCTL_OUTPUT and CHATCTL_JQ', () => {
    expect(wantsJson([], { env: { ...home, CHATCTL_OUTPUT: 'json' }, cwd: undefined })).to.equal(true)
    expect(wantsJson([], { env: { ...home, CHATCTL_JQ: '.id' }, cwd: undefined })).to.equal(true)
  })
})
