import { Failure } from '../../contract/failure.ts'
import {
  checkAudience,
  checkIssuer,
  checkKnownPermissions,
  checkSubject,
  checkTokenLifetime,
  checkTrustName,
  resolveHourlyLimit,
} from '../domain/access/check-requests.ts'
import { adminId } from '../domain/access/permissions.ts'
import {
  deleteTrust,
  findTrust,
  listTrusts,
  type NewTrust,
  storeTrust,
  type TrustRecord,
} from '../domain/access/trusts.ts'
import { isUniqueViolation } from '../store/storage-failure.ts'
import type { Database } from '../store/tables.ts'
import { requireHolder } from './administer-accounts.ts'
import type { DataAccess } from './data-access.ts'

/** Default: access tokens for 900 seconds, no limit, and the built-in admin. `user` is an ID or an email. */
type TrustRequest = Omit<NewTrust, 'user_id' | 'limit' | 'expires_in'> & {
  expiresIn?: number | undefined
  limit?: number | undefined
  user?: string | undefined
}

/** Manages trusts in issuers of identity tokens on the machine of the service. */
export function administerTrusts(data: DataAccess) {
  const { by } = data
  const unknown = (name: string) =>
    new Failure('not_found', `No trust ${JSON.stringify(name)}`, { advice: [{ code: 'list_trusts' }] })
  const demand = (trust: TrustRecord | undefined, name: string): TrustRecord => {
    if (trust) return trust
    throw unknown(name)
  }
  return {
    /**
     * Creates the database if there is none yet.
     * @throws Failure `usage`, `not_found` for the user, `refused` for a permission that the user does not have,
     * `conflict` for a name in use
     */
    createTrust: (request: TrustRequest): Promise<TrustRecord> =>
      data.create(async (db) => {
        const wanted = await resolveTrust(db, request)
        if (await findTrust(db, wanted.name)) throw nameTaken(wanted.name)
        try {
          return await storeTrust(db, wanted, by)
        } catch (error) {
          throw isUniqueViolation(error) ? nameTaken(wanted.name) : error
        }
      }),
    /** Oldest first. */
    listTrusts: (): Promise<TrustRecord[]> => data.read(listTrusts, []),
    /** @throws Failure `not_found` */
    findTrust: (name: string): Promise<TrustRecord> =>
      data.read(async (db) => demand(await findTrust(db, name), name), unknown(name)),
    /** Ends the access tokens of the trust too, from the next request on. @throws Failure `not_found` */
    revokeTrust: (name: string): Promise<TrustRecord> =>
      data.change(async (db) => demand(await deleteTrust(db, name, by), name), unknown(name)),
  }
}

async function resolveTrust(db: Database, request: TrustRequest): Promise<NewTrust> {
  const { permissions, expiresIn: expires_in = 900, user = adminId, ...rest } = request
  checkTrustName(rest.name)
  checkIssuer(rest.issuer)
  checkAudience(rest.audience)
  checkSubject(rest.subject)
  checkTokenLifetime(expires_in)
  checkKnownPermissions(permissions)
  const limit = resolveHourlyLimit(rest.tier, rest.limit)
  const user_id = await requireHolder(db, user, permissions, 'A trust')
  return { ...rest, permissions: [...new Set(permissions)], user_id, limit, expires_in }
}

const nameTaken = (name: string) =>
  new Failure('conflict', `A trust ${JSON.stringify(name)} already exists`, {
    advice: [{ code: 'revoke_trust', name }],
  })
