import { expect } from 'chai'
import { openAdministration } from '../../../src/service/administration/administration.ts'
import { onEachEngine } from '../temporary-service.ts'
import { Browser } from './browser.ts'
import { createUser, getTokens, refresh, signIn } from './flow.ts'

onEachEngine('sign-ins in the audit log', (withService) => {
  it('have one entry for each session that begins or ends, with its address, and none for a refresh', () =>
    withService(async (service) => {
      const { url, place } = service
      const users = { ada: await createUser(service), bob: await createUser(service, 'bob@example.com') }
      const browser = new Browser()
      const tokens = await getTokens(url, { browser, scope: 'chat:read' })
      const { body } = await refresh(url, tokens.refresh_token)
      await refresh(url, body.refresh_token)
      const revoke = (token: string) =>
        fetch(`${url}/oauth/revoke`, {
          method: 'POST',
          body: new URLSearchParams({ client_id: 'chatctl', token }),
        })
      for (const token of [body.access_token, body.access_token, 'unknown'])
        expect((await revoke(token)).status).to.equal(200)
      await signIn(browser, await browser.open(`${url}/device?prompt=login`), 'bob@example.com')
      const other = new Browser()
      await signIn(other, await other.open(`${url}/account`), 'bob@example.com')
      await other.submit(await other.open(`${url}/account`), { do: 'end-others' })
      await other.submit(await other.open(`${url}/account`), { do: 'sign-out' })

      const administration = await openAdministration(place)
      const entries = await administration.listChanges({ limit: 100 })
      await administration.close()
      const ofSessions = entries.filter(({ action }) => /^(sign|session)/.test(action))
      const sessions: string[] = []
      const rows = ofSessions.map(({ action, actor, target, before, after, request_id }) => {
        expect(actor).to.equal(target)
        expect(request_id).to.match(/^req_/)
        const { session, id, kind, scope, address } = Object.assign({}, before, after) as Record<
          string,
          string
        >
        const known = session ?? id ?? ''
        expect(known).to.match(/^ses_/)
        if (!sessions.includes(known)) sessions.push(known)
        const user = Object.entries(users).find(([, of]) => of === target)?.[0]
        return [action, user, `${kind} ${sessions.indexOf(known)}`, scope, address].filter(Boolean).join(' ')
      })
      expect(rows).to.deep.equal([
        'sign_in.succeeded ada browser 0 127.0.0.1',
        'sign_in.succeeded ada program 1 chat:read 127.0.0.1',
        'sign_out ada program 1 127.0.0.1',
        'sign_out ada browser 0 127.0.0.1',
        'sign_in.succeeded bob browser 2 127.0.0.1',
        'sign_in.succeeded bob browser 3 127.0.0.1',
        'session.revoke bob browser 2',
        'sign_out bob browser 3 127.0.0.1',
      ])
      for (const secret of [tokens.access_token, body.refresh_token])
        expect(JSON.stringify(entries)).not.to.include(secret)
    }))
})
