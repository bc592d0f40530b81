import { expect } from 'chai'
import { createAdapters } from '../../../src/service/oauth/adapter.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { closing } from '../../support/lifetime.ts'
import { withDirectory } from '../temporary-service.ts'

describe('the records of the OAuth server', () => {
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
