import { expect } from 'chai'
import {
  type Administration,
  openAdministration,
} from '../../../src/service/administration/administration.ts'
import { startService } from '../../../src/service/start-service.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import { closing } from '../../support/lifetime.ts'
import { Browser } from '../oauth/browser.ts'
import { createUser, getTokens, password, refresh, signIn } from '../oauth/flow.ts'
import { exchangeAt, type TrustedService, withTrustedService } from '../oauth/trusted-service.ts'
import { takesEffect } from '../take-effect.ts'
import { caller, onEachEngine, type WithService } from '../temporary-service.ts'

const email = 'ada@example.com'
const accessToken = 'urn:ietf:params:oauth:token-type:access_token'

type Place = TrustedService & { id: string; credentials: Record<string, () => Promise<number>> }

/** A user with one credential of each kind, each with a function that tries it at every service. */
const withUser = (withService: WithService, use: (place: Place) => Promise<void>) =>
  withTrustedService(withService, async (place) => {
    const { service, administration, trust, identity, exchange, clock } = place
    await using other = closing(await startService({ ...service.place, clock }))
    const id = await createUser(service)
    const { key } = await administration.createKey({ name: 'laptop', tier: 'pro', user: id })
    const browser = new Browser()
    const tokens = await getTokens(service.url, { browser })
    const fields = { subject_token_type: accessToken, scope: 'read:chat' }
    const exchanged = [
      (await exchangeAt(service.url, key, fields)).body.access_token,
      (await exchangeAt(service.url, tokens.access_token, fields)).body.access_token,
    ]
    await trust({ user: id, permissions: ['read:chat'] })
    const ofTrust = (await exchange(await identity())).body.access_token
    const bearer = (token: string) => async () => {
      const path = '/api/chat/history'
      const answers = [service.url, other.url].map((url) => caller(url, token)('GET', path))
      const [one, two] = (await Promise.all(answers)).map(({ status }) => status)
      return one === two ? Number(one) : -1
    }
    const credentials = {
      key: bearer(key),
      'token of a program': bearer(tokens.access_token),
      'token that is exchanged for a key': bearer(exchanged[0]),
      'token that is exchanged for a sign-in': bearer(exchanged[1]),
      'token of a trust': bearer(ofTrust),
      trust: async () => (await exchange(await identity())).status,
      'sign-in session': async () => {
        const { text } = await browser.open(`${service.url}/account`)
        return text.includes('End all other sessions') || text.includes(email) ? 200 : 401
      },
      'refresh token': async () => (await refresh(other.url, tokens.refresh_token)).status,
    }
    await use({ ...place, id, credentials })
  })

const actionsOf = async (administration: Administration, target: string) =>
  (await administration.listChanges({ target, limit: 100 })).map(({ action }) => action)

const kindOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    ({ kind }) => kind,
  )

onEachEngine('a user of the embedded service', (withService, engine) => {
  it('has no access while they are disabled, in every process, and no token or session after it', () =>
    withUser(withService, async ({ administration, credentials, id, service: { url } }) => {
      const statuses = async () => {
        const tried: [string, number][] = []
        for (const [name, tries] of Object.entries(credentials)) tried.push([name, await tries()])
        return Object.fromEntries(tried.map(([name, status]) => [name, status < 300]))
      }
      const all = (is: boolean) => Object.fromEntries(Object.keys(credentials).map((name) => [name, is]))
      const { 'refresh token': _, ...before } = credentials
      for (const [name, tries] of Object.entries(before)) expect(await tries(), name).to.equal(200)
      const disabled = await administration.disableUser('ADA@example.com')
      expect(disabled).to.include({ id, keys: 1, trusts: 1, sign_in_sessions: 0 })
      expect(disabled.disabled_at).to.be.a('string')
      expect(await administration.disableUser(id)).to.deep.equal(disabled)
      await takesEffect(engine, async () => {
        expect(await statuses()).to.deep.equal(all(false))
      })
      const page = await new Browser().open(`${url}/account`)
      expect((await signIn(new Browser(), page)).text).not.to.include('This user is disabled.')
      const browser = new Browser()
      const refused = await signIn(browser, await browser.open(`${url}/account`))
      expect(refused.text).to.include('This user is disabled.')
      expect(await kindOf(administration.createKey({ name: 'x', tier: 'pro', user: id }))).to.equal('refused')

      expect(await administration.enableUser(id)).to.include({ disabled_at: null, sign_in_sessions: 0 })
      await takesEffect(engine, async () => {
        expect(await statuses()).to.deep.equal({ ...all(false), key: true, trust: true })
      })
      expect((await signIn(browser, refused)).text).to.include(email)
      const changes = (await administration.listChanges({ action: 'user', limit: 9 })).slice(-2)
      expect(changes.map(({ action, before, after }) => [action, before, after])).to.deep.equal([
        ['user.disable', { disabled_at: null }, { disabled_at: disabled.disabled_at }],
        ['user.enable', { disabled_at: disabled.disabled_at }, { disabled_at: null }],
      ])
      const reasons = await administration.listChanges({ action: 'trust.refused', limit: 9 })
      expect(reasons.at(-1)?.after).to.include({ reason: 'the trust was revoked, or its user is disabled' })
    }))

  it('leaves nothing behind when they are deleted but a pseudonym in the audit log', () =>
    withUser(withService, async ({ administration, credentials, id, service }) => {
      const { call, place } = service
      await call('PATCH', `/v1/users/${id}`, { name: 'Ada Lovelace', metadata: { team: 'engines' } })
      const { key, id: keyId } = await administration.createKey({
        name: "Ada's phone",
        tier: 'pro',
        user: id,
      })
      await caller(service.url, key)('POST', '/api/chat/send', { message: 'hello' })
      await signIn(new Browser(), await new Browser().open(`${service.url}/account`), email, 'wrong')
      await administration.createKey({ name: 'of another user', tier: 'free' })
      const entries = await administration.listChanges({ limit: 1_000 })
      const deleted = await administration.deleteUser(email)
      expect(deleted).to.include({ id, email, conversations: 1, messages: 2, keys: 2 })
      expect(deleted.audit_subject).to.match(/^deleted_/)

      const store = await openStore(place)
      const dump: string[] = []
      for (const table of ['users', 'contexts', 'messages', 'preferences', 'api_keys', 'trusts'] as const)
        dump.push(JSON.stringify(await store.db.selectFrom(table).selectAll().execute()))
      dump.push(JSON.stringify(await store.db.selectFrom('oauth_records').selectAll().execute()))
      const log = JSON.stringify(await store.db.selectFrom('audit_log').selectAll().execute())
      await store.close()
      for (const trace of [id, email, 'Ada', 'engines'])
        expect([...dump, log].join(), trace).not.to.include(trace)
      expect(log).to.include('of another user').and.to.include(keyId)
      const about = await actionsOf(administration, deleted.audit_subject)
      expect(about).to.include.members(['user.create', 'user.update', 'sign_in.succeeded', 'user.delete'])
      expect(await administration.listChanges({ limit: 1_000 })).to.have.length(entries.length + 1)
      const mine = await administration.listChanges({ actor: deleted.audit_subject, limit: 100 })
      expect(mine.length).to.be.above(0)
      for (const [name, tries] of Object.entries(credentials))
        await takesEffect(engine, async () => {
          expect(await tries(), name).not.to.equal(200)
        })
    }))

  it('stays in the audit log when they are deleted with that option', () =>
    withService(async (service) => {
      await using administration = closing(await openAdministration(service.place))
      const id = await createUser(service)
      expect(await administration.deleteUser(id, true)).to.include({ audit_subject: id })
      const entries = await administration.listChanges({ target: id, limit: 9 })
      expect(entries.map(({ action }) => action)).to.deep.equal(['user.create', 'user.delete'])
      expect(entries[1]?.before).to.deep.equal({ email, name: '', role: 'member' })
    }))

  it('cannot be removed if they are built in, or the last admin who can sign in', () =>
    withTrustedService(withService, async ({ administration }) => {
      const create = (name: string) => administration.createAdmin({ email: name, name: '', password })
      const ends = (user: string) =>
        Promise.all([
          kindOf(administration.describeUser(user, true)),
          kindOf(administration.disableUser(user)),
          kindOf(administration.deleteUser(user)),
          kindOf(administration.offboardUser(user, { keepsAudit: false, save: async () => 'x' }).next()),
        ])
      const refused = ['refused', 'refused', 'refused', 'refused']
      expect(await ends('usr_admin')).to.deep.equal(refused)
      await create(email)
      expect(await ends(email)).to.deep.equal(refused)
      const { id } = await create('bob@example.com')
      await administration.disableUser(id)
      expect(await ends(email)).to.deep.equal(refused)
      await administration.enableUser(id)
      await administration.deleteUser(email)
      expect(await ends(id)).to.deep.equal(refused)
      expect(await kindOf(administration.describeUser(email))).to.equal('not_found')
    }))

  it('is exported with everything that is stored, and without secrets', () =>
    withUser(withService, async ({ administration, id, service }) => {
      const { key } = await administration.createKey({ name: 'talks', tier: 'pro', user: id })
      const sent = await caller(service.url, key)('POST', '/api/chat/send', { message: 'Bonjour' })
      await administration.createKey({ name: 'of another user', tier: 'free' })
      await service.call('POST', '/api/chat/send', { message: 'of another user' })
      const exported = await administration.exportUser(email)
      expect(exported.user).to.deep.include({
        id,
        email,
        keys: 2,
        trusts: 1,
        sign_in_sessions: 2,
        messages: 2,
      })
      expect(exported.user.last_used_at).to.be.a('string')
      expect(exported.keys.map(({ name }) => name)).to.deep.equal(['laptop', 'talks'])
      expect(exported.trusts.map(({ name }) => name)).to.deep.equal(['deploy'])
      expect(exported.sign_in_sessions.map(({ kind }) => kind)).to.have.members(['browser', 'program'])
      expect(exported.conversations).to.have.length(1)
      expect(exported.conversations[0]).to.include({ id: sent.body.context_id })
      const contents = exported.messages.map((message) => ('content' in message ? message.content : ''))
      expect(contents[0]).to.equal('Bonjour')
      const actions = exported.audit_log.map(({ action }) => action)
      expect(actions).to.include.members(['user.create', 'key.create', 'sign_in.succeeded', 'trust.create'])
      const text = JSON.stringify(exported)
      for (const secret of [key, password, 'argon2', 'of another user', '"hash"'])
        expect(text, secret).not.to.include(secret)
    }))

  it('is offboarded in order, with a proof, and again after a failure', () =>
    withUser(
      (use, options) => withService(use, { ...options, announce: {} }),
      async ({ administration, credentials, id, service: { url } }) => {
        const run = async (save: (document: object) => Promise<string>) => {
          const steps: object[] = []
          for await (const step of administration.offboardUser(email, { keepsAudit: false, save }))
            steps.push(step)
          return steps
        }
        expect(
          await kindOf(run(() => Promise.reject(Object.assign(new Error(), { kind: 'full' })))),
        ).to.equal('full')
        expect((await administration.describeUser(id)).disabled_at).to.be.a('string')
        await administration.enableUser(id)
        const { keys } = await administration.describeUser(id)
        let saved: unknown
        const steps = await run(async (document) => {
          saved = document
          return '/ada.json'
        })
        expect(saved).to.have.nested.property('user.email', email)
        const [last] = steps.slice(-2)
        const proof = { step: 'verify', credentials: keys + 1, services: [url] }
        expect(steps).to.deep.equal([
          { step: 'disable' },
          proof,
          { step: 'export', file: '/ada.json' },
          last,
          proof,
        ])
        expect(last)
          .to.have.property('audit_subject')
          .that.matches(/^deleted_/)
        for (const [name, tries] of Object.entries(credentials)) expect(await tries(), name).not.to.equal(200)
      },
    ))
})
