import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { Clock } from '../../system/clock.ts'
import { currentRequest } from './adapter.ts'
import { scopeNames, unknownScopes } from './scopes.ts'
import { TokenBuckets } from './token-buckets.ts'

/** Maximum length of all parameters together, in characters, because they are stored. */
const maxLength = 1024

/** Each request stores a record for ten minutes, although it has no credential. */
const capacity = { burst: 30, perSecond: 0.5 }

/** The scope that a device sign-in has only if an admin has enabled it. */
export const adminScope = 'admin'

/**
 * Returns the check of device authorization requests (RFC 8628 section 3.1).
 * @param allowsAdmin whether they may request the scope `admin`
 */
export function createDeviceGate(clock: Clock, allowsAdmin: boolean): (ctx: KoaContextWithOIDC) => object {
  const requests = new TokenBuckets(clock, capacity)
  return (ctx) => {
    if (!requests.takeFor(currentRequest.getStore()?.address ?? '')) {
      ctx.set('retry-after', String(1 / capacity.perSecond))
      const refusal = new errors.TemporarilyUnavailable('Too many sign-ins from your network')
      throw Object.assign(refusal, { statusCode: 429 })
    }
    // The parameters of oidc-provider contain only the scopes that it knows.
    const { params = {}, body = {} } = ctx.oidc
    if (JSON.stringify(params).length > maxLength) {
      throw new errors.InvalidRequest('the parameters must not exceed 1,024 characters in all')
    }
    const scope = String(body['scope'] ?? '')
    const unknown = unknownScopes(scope)
    if (unknown.length > 0) {
      throw new errors.InvalidScope(`unknown scope ${unknown.join(', ')}`, unknown.join(' '))
    }
    if (scopeNames(scope).includes(adminScope) && !allowsAdmin) {
      throw new errors.InvalidScope(
        'this service does not grant the scope admin to a device sign-in',
        adminScope,
      )
    }
    return {}
  }
}
