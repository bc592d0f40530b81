import { Failure } from '../../contract/failure.ts'
import { checkGrantable, checkKnownPermissions, resolveHourlyLimit } from '../domain/access/check-key.ts'
import {
  checkAudience,
  checkIssuer,
  checkSubject,
  checkTokenLifetime,
  checkTrustName,
} from '../domain/access/check-trust.ts'
import { adminId, userPermissions } from '../domain/access/permissions.ts'
import {
  deleteTrust,
  findTrust,
  listTrusts,
  type NewTrust,
  storeTrust,
  type TrustRecord,
} from '../domain/access/trusts.ts'
import { localAuditContext } from '../domain/audit.ts'
import { isUniqueViolation } from '../store/storage-failure.ts'
import type { Database, Tier } from '../store/tables.ts'
import type { DataAccess } from './data-access.ts'
import { requireUser } from './find-user.ts'

/** Manages trusts in issuers of identity tokens on the machine of the service. */
export interface TrustAdministration {
  /**
   * Returns the trust that `createTrust` would create, and creates nothing.
   * @throws Failure `usage`, `not_found` for the user, `refused` for a permission that the user does not have,
   * `conflict` for a name in use
   */
  planTrust(request: TrustRequest): Promise<NewTrust>
  /** Creates the database if there is none yet. @throws as `planTrust` */
  createTrust(request: TrustRequest): Promise<TrustRecord>
  /** Oldest first. */
  listTrusts(): Promise<TrustRecord[]>
  /** @throws Failure `not_found` */
  findTrust(name: string): Promise<TrustRecord>
  /** Ends the access tokens of the trust too, from the next request on. @throws Failure `not_found` */
  revokeTrust(name: string): Promise<TrustRecord>
}

interface TrustRequest {
  name: string
  issuer: string
  audience: string
  /** A pattern: see `matchesSubject`. */
  subject: string
  permissions: readonly string[]
  /** Seconds until an access token expires. Default: 900. */
  expiresIn?: number | undefined
  tier: Tier
  /** Requests per hour, only for tier enterprise. Default: no limit. */
  limit?: number | undefined
  /** Id or email. Default: the built-in admin. */
  user?: string | undefined
}

export function administerTrusts({
  clock,
  open,
  openExisting,
  reportingFailures,
}: DataAccess): TrustAdministration {
  /** Without data, every trust is unknown. */
  const withTrust = <T>(name: string, work: (db: Database) => Promise<T | undefined>): Promise<T> =>
    reportingFailures(async () => {
      const store = await openExisting()
      const done = store && (await work(store.db))
      if (done !== undefined) return done
      throw new Failure('not_found', `No trust ${JSON.stringify(name)}`, {
        advice: [{ code: 'list_trusts' }],
      })
    })

  return {
    planTrust: (request) => reportingFailures(async () => planTrust((await openExisting())?.db, request)),
    createTrust: (request) =>
      reportingFailures(async () => {
        const planned = await planTrust((await openExisting())?.db, request)
        try {
          return await storeTrust((await open()).db, planned, localAuditContext(clock))
        } catch (error) {
          throw isUniqueViolation(error) ? nameTaken(planned.name) : error
        }
      }),
    listTrusts: () =>
      reportingFailures(async () => {
        const store = await openExisting()
        return store ? listTrusts(store.db) : []
      }),
    findTrust: (name) => withTrust(name, (db) => findTrust(db, name)),
    revokeTrust: (name) => withTrust(name, (db) => deleteTrust(db, name, localAuditContext(clock))),
  }
}

/** @param db undefined if there is no data yet */
async function planTrust(db: Database | undefined, request: TrustRequest): Promise<NewTrust> {
  const { name, issuer, audience, subject, permissions, expiresIn = 900, tier, user = adminId } = request
  checkTrustName(name)
  checkIssuer(issuer)
  checkAudience(audience)
  checkSubject(subject)
  checkTokenLifetime(expiresIn)
  checkKnownPermissions(permissions)
  const limit = resolveHourlyLimit(tier, request.limit)
  const person = await requireUser(db, user)
  const held = userPermissions(person.id, person.role, person.permissions)
  checkGrantable(permissions, held, person.email, 'A trust')
  if (db && (await findTrust(db, name))) throw nameTaken(name)
  return {
    name,
    issuer,
    audience,
    subject,
    permissions: [...new Set(permissions)],
    user_id: person.id,
    tier,
    limit,
    expires_in: expiresIn,
  }
}

const nameTaken = (name: string) =>
  new Failure('conflict', `A trust ${JSON.stringify(name)} already exists`, {
    advice: [{ code: 'revoke_trust', name }],
  })
