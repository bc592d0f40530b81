import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { openStore } from '../../../src/service/store/open-store.ts'
import { plantKey, plantUser } from '../../service/domain/plant-key.ts'
import { onEachEngine } from '../../service/temporary-service.ts'

onEachEngine('a request with a slow body', (withService) => {
  for (const change of [
    { to: 'is revoked', status: 401, fields: { revoked_at: '2026-01-01T00:00:00.000Z' } },
    { to: 'loses the permission', status: 403, fields: { permissions: '["read:chat"]' } },
  ]) {
    it(`is rejected if its key ${change.to} before the body is complete`, () =>
      withService(async ({ url, place, call }) => {
        const store = await openStore(place)
        const { id, key } = await plantKey(store.db)
        const body = JSON.stringify({ role: 'admin' })
        const user = await plantUser(store.db)
        const path = `/v1/users/${user.id}/permissions`
        const sent = request(url + path, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'content-length': body.length,
          },
        })
        sent.write(body.slice(0, 5))
        await wait(500)
        await store.db.updateTable('api_keys').set(change.fields).where('id', '=', id).execute()
        await wait(2_000)
        sent.end(body.slice(5))
        const [answer] = (await once(sent, 'response')) as [IncomingMessage]
        answer.resume()
        expect(answer.statusCode).to.equal(change.status)
        const { role } = await store.db
          .selectFrom('users')
          .select('role')
          .where('id', '=', user.id)
          .executeTakeFirstOrThrow()
        expect(role).to.equal('member')
        expect((await call('GET', '/v1/settings')).status).to.equal(200)
        await store.close()
      }))
  }
})
