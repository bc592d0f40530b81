import { Failure } from '../../contract/failure.ts'
import { fetchText } from '../../system/network/fetch-text.ts'
import { selectKey } from '../domain/access/key-authenticator.ts'
import { storeKey } from '../domain/access/keys.ts'
import { selectToken } from '../http/request/authenticate.ts'
import { listSessions } from '../oauth/browser/sign-in-sessions.ts'
import { inSeconds } from '../oauth/lifetimes.ts'
import { administerUsers } from './administer-users.ts'
import type { DataAccess } from './data-access.ts'

interface OffboardStep {
  step: 'disable' | 'verify' | 'export' | 'delete'
  /** How many API keys, access tokens, and sign-in sessions were valid before, and are refused now. */
  credentials?: number
  /** The services on this machine that accepted a new key before, and refuse it now. */
  services?: string[]
  file?: string
  audit_subject?: string
}

/** How long, in ms, a service process may take to refuse a key, and the time between attempts. */
const noticeTime = 5_000
const noticeInterval = 100

/** @param findServices the services that run on the data on this machine */
export function offboardUsers(data: DataAccess, findServices: () => Promise<{ url: string }[]>) {
  const { clock, by } = data
  const users = administerUsers(data)

  /** Creates a key that can only read the profile: the service itself stores only digests. */
  async function createProbe(user_id: string): Promise<string> {
    const expires_at = new Date(clock.now() + 60_000).toISOString()
    const wanted = { user_id, name: 'check of offboarding', permissions: ['read:profile'], limit: null }
    const kind = { tier: 'enterprise', expires_at } as const
    return (await data.change((db) => storeKey(db, { ...wanted, ...kind }, by))).key
  }

  /** The digests of everything with which a request could name the user. */
  const listDigests = (id: string) =>
    data.read(async (db) => {
      const keys = db.selectFrom('api_keys').select('hash').where('user_id', '=', id)
      const tokens = db.selectFrom('oauth_records').select('id_hash as hash').where('user_id', '=', id)
      return (await keys.unionAll(tokens).execute()).map(({ hash }) => hash)
    })

  /** How many credentials are accepted, by the queries that requests use. */
  const countAccepted = (id: string, digests: readonly string[]) =>
    data.read(async (db) => {
      const now = inSeconds(clock)
      const queries = digests.flatMap<object>((hash) => [
        selectKey(db, { hash, now }),
        selectToken(db, { hash, now }),
      ])
      return [...(await Promise.all(queries)), await listSessions(db, clock, id)].flat().length
    })

  return {
    /**
     * Disables, exports, and deletes a user. After both ends of access, tries the old credentials. A failure ends it,
     * and it can be repeated.
     * @param save stores the export, and returns the path of the file
     * @throws as `describeUser` and `save`; Failure `conflict` if a credential is still accepted
     */
    async *offboardUser(
      user: string,
      { keepsAudit, save }: { keepsAudit: boolean; save: (document: object) => Promise<string> },
    ): AsyncGenerator<OffboardStep> {
      const { id, email, disabled_at } = await users.describeUser(user, true)
      const probe = disabled_at === null ? await createProbe(id) : ''
      const accepting: string[] = []
      for (const { url } of await findServices()) if ((await ask(url, probe)) === 200) accepting.push(url)
      const digests = await listDigests(id)
      const credentials = await countAccepted(id, digests)

      const verify = async (): Promise<OffboardStep> => {
        if ((await countAccepted(id, digests)) > 0)
          throw new Failure('conflict', `A credential of ${email} is still accepted`)
        const services: string[] = []
        for (const url of accepting) {
          let status = await ask(url, probe)
          for (let waited = 0; status === 200 && waited < noticeTime; waited += noticeInterval) {
            await clock.sleep(noticeInterval)
            status = await ask(url, probe)
          }
          if (status === 200) throw new Failure('conflict', `The service at ${url} still accepts ${email}`)
          // One that does not respond has stopped.
          if (status === 401) services.push(url)
        }
        return { step: 'verify', credentials, services }
      }

      await users.disableUser(id)
      yield { step: 'disable' }
      yield await verify()
      yield { step: 'export', file: await save(await users.exportUser(id)) }
      const { audit_subject } = await users.deleteUser(id, keepsAudit)
      yield { step: 'delete', audit_subject }
      yield await verify()
    },
  }
}

/** The status of a request with a key; undefined without a response. */
async function ask(origin: string, key: string): Promise<number | undefined> {
  // The key is accepted only here, and the certificate may be for another host name.
  const bounds = { timeout: 3_000, maxSize: 100, trustsAny: true }
  const headers = { authorization: `Bearer ${key}` }
  return fetchText(new URL('/api/user/profile', origin), { ...bounds, headers }).then(
    ({ status }) => status,
    () => undefined,
  )
}
