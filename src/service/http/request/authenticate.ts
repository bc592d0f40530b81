import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../../system/clock.ts'
import type { Caller, Callers } from '../../domain/access/callers.ts'
import { hashKey } from '../../domain/access/keys.ts'
import { adminId, type Permission } from '../../domain/access/permissions.ts'
import { findTokenCaller } from '../../oauth/token-caller.ts'
import { Refusal } from '../../refusal.ts'
import type { Database } from '../../store/tables.ts'

/** Digests of the keys that live only in this process; they act as the admin. */
export type ProcessKeys = ReadonlySet<string>

/** Where the credentials of a request are looked up. */
interface Credentials {
  callers: Callers
  db: Database
  processKeys: ProcessKeys
  clock: Clock
}

const processCaller: Caller = {
  keyId: 'process',
  userId: adminId,
  may: () => true,
  lacks: () => 'the API key does not have it',
  hourlyLimit: null,
  isCounted: false,
}

/** RFC 6750 section 2.1; the scheme's name knows no case (RFC 9110 section 11.1). */
const bearer = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

/**
 * Whom a request acts as.
 * @throws Refusal `unauthorized`, in the same words for a key that is unknown, revoked or past its end
 */
export async function authenticate(credentials: Credentials, headers: IncomingHttpHeaders): Promise<Caller> {
  if (!headers.authorization?.toLowerCase().startsWith('bearer ')) {
    throw new Refusal('unauthorized', 'Missing API key: send the header Authorization: Bearer <API_KEY>')
  }
  const key = bearer.exec(headers.authorization)?.[1]
  const caller = key === undefined ? undefined : await findCaller(credentials, key)
  if (!caller) throw new Refusal('unauthorized', 'Invalid API key')
  return caller
}

/** As `generateKey` makes them; access tokens are shorter. */
const keyForm = /^ck_[A-Za-z0-9_-]{43}$/

/** A key says of itself that it is one; anything else may be an access token. */
async function findCaller(
  { callers, db, processKeys, clock }: Credentials,
  key: string,
): Promise<Caller | undefined> {
  if (!keyForm.test(key)) return findTokenCaller(db, key, clock)
  const digest = hashKey(key)
  return processKeys.has(digest) ? processCaller : callers.find(digest)
}

/** @throws Refusal `forbidden`, which names what is missing, and to whom */
export function authorize(caller: Caller, permission: Permission): void {
  if (caller.may(permission)) return
  throw new Refusal('forbidden', `Missing permission ${permission}: ${caller.lacks(permission)}`, {
    details: { missing_permission: permission },
  })
}

/** How long, in ms, a request may take to arrive without being asked again whose it is. */
const promptArrival = 500

/** Whom the requests that are being answered act as. */
export class RequestCallers {
  readonly #find: (headers: IncomingHttpHeaders) => Promise<Caller>
  readonly #known = new WeakMap<FastifyRequest, { caller: Caller; at: number }>()

  readonly #clock: Clock

  /** @param find as `authenticate` does it */
  constructor(find: (headers: IncomingHttpHeaders) => Promise<Caller>, clock: Clock) {
    this.#find = find
    this.#clock = clock
  }

  /** Finds out whose a request is. @throws Refusal `unauthorized` */
  async identify(request: FastifyRequest): Promise<Caller> {
    const caller = await this.#find(request.headers)
    this.#known.set(request, { caller, at: this.#clock.monotonic() })
    return caller
  }

  /** Undefined for a request of nobody, or before `identify`. */
  find(request: FastifyRequest): Caller | undefined {
    return this.#known.get(request)?.caller
  }

  /** The same where there must be one. @throws Refusal `unauthorized` */
  of(request: FastifyRequest): Caller {
    const caller = this.find(request)
    if (caller) return caller
    throw new Refusal('unauthorized', 'Invalid API key')
  }

  /** Whether a body came so late that rights may have been taken away meanwhile. */
  isLate(request: FastifyRequest): boolean {
    return this.#clock.monotonic() - (this.#known.get(request)?.at ?? 0) > promptArrival
  }
}
