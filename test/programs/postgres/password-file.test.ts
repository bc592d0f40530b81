import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { openPostgres } from '../../../src/service/store/postgres/open-postgres.ts'
import { withDirectory } from '../../service/temporary-service.ts'
import { sharedPostgres } from '../../support/postgres.ts'

describe('the password file of libpq', () => {
  it('gives access to a server unless others may read the file', async () => {
    const { url, password } = await sharedPostgres()
    await withDirectory(async (directory) => {
      const file = join(directory, 'pgpass')
      const bare = url.replace(`:${password}@`, '@')
      writeFileSync(file, `*:*:*:chatctl:${password}\n`, { mode: 0o600 })
      process.env['PGPASSFILE'] = file
      const database = await (await sharedPostgres()).createDatabase()
      const store = await openPostgres(bare.replace(/\/postgres$/, new URL(database).pathname))
      await store.close()
      chmodSync(file, 0o644)
      const refused = await openPostgres(bare).catch((error) => error)
      expect(refused.message).to.include('a password is required')
      delete process.env['PGPASSFILE']
      await (await sharedPostgres()).dropDatabase(database)
    })
  })
})
