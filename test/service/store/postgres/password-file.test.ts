import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { openPostgres } from '../../../../src/service/store/postgres/open-postgres.ts'
import { findPassword } from '../../../../src/service/store/postgres/password-file.ts'
import { needPostgres, sharedPostgres } from '../../../support/postgres.ts'
import { withFolder } from '../../temporary-service.ts'

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

  it('lets a service in, unless others may read it', async function () {
    needPostgres(this)
    const { url, password } = await sharedPostgres()
    await withFolder(async (folder) => {
      const file = join(folder, 'pgpass')
      const bare = url.replace(`:${password}@`, '@')
      writeFileSync(file, `*:*:*:chatctl:${password}\n`, { mode: 0o600 })
      const env = { PGPASSFILE: file }
      const database = await (await sharedPostgres()).createDatabase()
      const store = await openPostgres(bare.replace(/\/postgres$/, new URL(database).pathname), { env })
      await store.close()
      chmodSync(file, 0o644)
      const refused = await openPostgres(bare, { env }).catch((error) => error)
      expect(refused.message).to.include('a password is needed')
      await (await sharedPostgres()).dropDatabase(database)
    })
  })
})
