import { expect } from 'chai'
import { createAdapters } from '../../../src/service/oauth/adapter.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { closing } from '../../support/lifetime.ts'
import { withDirectory } from '../temporary-service.ts'

describe('the records of the OAuth server', () => {
  it('let one of two processes use a code, and lose the grant when the other one tries', () =>
    withDirectory(async (directory) => {
      const stores = [openSqlite(directory), openSqlite(directory)] as const
      const [one, other] = stores.map(({ db }) => createAdapters(db, systemClock)('AuthorizationCode'))
      const grants = createAdapters(stores[0].db, systemClock)('Grant')
      await grants.upsert('the-grant', { accountId: 'usr_admin' }, 60)
      await one?.upsert('the-code', { accountId: 'usr_admin', grantId: 'the-grant' }, 60)
      expect(await one?.find('the-code')).not.to.have.property('consumed')
      expect(await other?.find('the-code')).not.to.have.property('consumed')
      await one?.consume('the-code')
      const error = await other?.consume('the-code').then(
        () => undefined,
        (reason) => reason,
      )
      expect(error).to.include({ error: 'invalid_grant', statusCode: 400 })
      expect(await grants.find('the-grant')).to.equal(undefined)
      for (const store of stores) await store.close()
    }))

  it('refer to others by digests, which find them and are not accepted as ids', () =>
    withDirectory(async (directory) => {
      await using store = closing(openSqlite(directory))
      const adapters = createAdapters(store.db, systemClock)
      await adapters('Grant').upsert('the-grant', { accountId: 'usr_admin' }, 60)
      const session = {
        ...{ accountId: 'usr_admin', uid: 'the-uid', jti: 'the-session' },
        authorizations: { chatctl: { sid: 'x', grantId: 'the-grant' } },
      }
      await adapters('Session').upsert('the-session', session, 60)
      const token = { accountId: 'usr_admin', grantId: 'the-grant', sessionUid: 'the-uid', jti: 'the-token' }
      await adapters('AccessToken').upsert('the-token', token, 60)
      const rows = await store.db.selectFrom('oauth_records').selectAll().execute()
      expect(JSON.stringify(rows)).not.to.match(/the-(grant|uid|session|token)/)
      const found = await adapters('AccessToken').find('the-token')
      expect(found?.['jti']).to.equal('the-token')
      const grantId = String(found?.grantId)
      expect(await adapters('Grant').find(grantId)).to.include({ jti: grantId })
      expect(await adapters('Session').findByUid(String(found?.['sessionUid']))).to.include({
        accountId: 'usr_admin',
      })
      for (const { model, id_hash: hash } of rows)
        if (model !== 'Grant') expect(await adapters(model).find(`#${hash}`)).to.equal(undefined)
    }))
})
