import { expect } from 'chai'
import { findPassword, passwordFile } from '../../../../src/service/store/postgres/pgpass.ts'

const owner = { host: 'db.example', port: 5432, database: 'chat', user: 'ada' }

describe("libpq's password file", () => {
  for (const [what, text, password] of [
    [
      'uses the first line that matches',
      'x:5432:chat:ada:no\ndb.example:5432:chat:ada:one\n*:*:*:*:two',
      'one',
    ],
    ['supports wildcards', '*:*:*:*:any', 'any'],
    ['supports escapes', 'db.example:*:chat:ada:a\\:b\\\\c', 'a:b\\c'],
    ['skips comments and invalid lines', '# *:*:*:*:no\n\ninvalid\n*:*:*:ada:yes\r\n', 'yes'],
    ['has no password for other servers or users', '*:*:*:bob:no\n*:5433:*:*:no', undefined],
  ] as const) {
    it(what, () => expect(findPassword(text, owner)).to.equal(password))
  }

  it('is in the home directory, or on Windows in that of application data', () => {
    expect(passwordFile({ HOME: '/home/ada', APPDATA: 'x' }, 'linux')).to.equal('/home/ada/.pgpass')
    expect(passwordFile({ APPDATA: 'C:\\Users\\ada\\AppData\\Roaming' }, 'win32')).to.equal(
      'C:\\Users\\ada\\AppData\\Roaming\\postgresql\\pgpass.conf',
    )
    // Never in the working directory.
    for (const APPDATA of [undefined, '', 'relative'])
      expect(passwordFile({ USERPROFILE: '/Users/ada', APPDATA }, 'win32')).to.equal(
        '\\Users\\ada\\AppData\\Roaming\\postgresql\\pgpass.conf',
      )
  })

  it('uses the line of localhost for a Unix socket', () => {
    expect(findPassword('localhost:*:*:*:local', { ...owner, host: '/var/run/postgresql' })).to.equal('local')
  })
})
