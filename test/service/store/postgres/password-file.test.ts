import { expect } from 'chai'
import { findPassword } from '../../../../src/service/store/postgres/password-file.ts'

const owner = { host: 'db.example', port: 5432, database: 'chat', user: 'ada' }

describe("libpq's password file", () => {
  for (const [what, text, password] of [
    [
      'takes the first line that matches',
      'x:5432:chat:ada:no\ndb.example:5432:chat:ada:one\n*:*:*:*:two',
      'one',
    ],
    ['knows wildcards', '*:*:*:*:any', 'any'],
    ['knows escapes', 'db.example:*:chat:ada:a\\:b\\\\c', 'a:b\\c'],
    ['passes over comments and what is no line', '# *:*:*:*:no\n\nnonsense\n*:*:*:ada:yes\r\n', 'yes'],
    ['has nothing for others', '*:*:*:bob:no\n*:5433:*:*:no', undefined],
  ] as const) {
    it(what, () => expect(findPassword(text, owner)).to.equal(password))
  }

  it('takes a Unix socket for localhost', () => {
    expect(findPassword('localhost:*:*:*:local', { ...owner, host: '/var/run/postgresql' })).to.equal('local')
  })
})
