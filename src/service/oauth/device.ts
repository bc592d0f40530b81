import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { Clock } from '../../system/clock.ts'
import { currentRequest } from './adapter.ts'
import { beginAttempt, userCodeSubjects } from './attempt-throttle.ts'
import { findSignedIn, type SignedIn } from './browser/account.ts'
import { formToken, type PageRequest, readForm, sendPage } from './browser/browser-request.ts'
import { beginSignIn } from './browser/sign-in.ts'
import {
  approveDeviceRequest,
  type DeviceRequest,
  denyDeviceRequest,
  findDeviceRequest,
  readUserCode,
} from './device-requests.ts'
import { paths } from './metadata.ts'
import { decidedPage, deviceConsentPage, userCodePage } from './pages/device-page.ts'
import { type Notice, waitNotice } from './pages/oauth-page.ts'
import { scopeNames, scopes, unknownScopes } from './scopes.ts'
import { TokenBuckets } from './token-buckets.ts'

const unknownCode: Notice = { alert: 'This code is unknown, has expired, or was already used.' }

/**
 * Asks for the user code that a program shows (RFC 8628 section 3.3). Only a signed-in user can try
 * codes. A code in the address must still be confirmed, because another site may have linked to it.
 */
export async function showDevice(page: PageRequest): Promise<void> {
  const { searchParams } = page.visit.url
  const userCode = readUserCode(searchParams.get('user_code') ?? '')
  const isOther = searchParams.get('prompt') === 'login'
  const signedIn = isOther ? undefined : await findSignedIn(page)
  if (!signedIn) return beginSignIn(page, addressOf(userCode))
  showEntry(signedIn, userCode ?? '', {})
}

/** Carries out a form of this page: a code, or a decision about the program that shows it. */
export async function submitDevice(page: PageRequest): Promise<void> {
  const signedIn = await findSignedIn(page)
  if (!signedIn) return beginSignIn(page, paths.device)
  const { server, visit } = page
  const form = await readForm(page, signedIn.session.uid)
  const typed = form.get('user_code') ?? ''
  const found = await findRequest(signedIn, typed)
  if (!('userCode' in found)) return showEntry(signedIn, typed.slice(0, 20), found)
  const decision = form.get('decision')
  if (decision !== 'allow' && decision !== 'deny') {
    const rights = scopeNames(found.scope).flatMap((name) => scopes[name]?.description ?? [])
    return sendPage(visit.response, deviceConsentPage(found, { ...aboutSignedIn(signedIn), rights }))
  }
  const { by } = signedIn
  const isFirst =
    decision === 'allow'
      ? await approveDeviceRequest(server, found, signedIn.session, by)
      : await denyDeviceRequest(server.db, found, by)
  if (!isFirst) return showEntry(signedIn, '', unknownCode)
  sendPage(visit.response, decidedPage(decision))
}

/** Counts a wrong code as a failed attempt, in every form, so that codes cannot be guessed. */
async function findRequest(
  { server, visit, user }: SignedIn,
  typed: string,
): Promise<DeviceRequest | Notice> {
  const { db, clock, allowsDeviceAdmin } = server
  const userCode = readUserCode(typed)
  if (userCode === undefined) return { alert: 'A code has eight letters, such as WDJB-MJHT.' }
  const attempt = await beginAttempt(db, userCodeSubjects(user.email, visit.address), clock.now())
  if ('wait' in attempt) return waitNotice(attempt.wait)
  const request = await attempt.judge(findDeviceRequest(db, clock, userCode))
  if (!request) return unknownCode
  await attempt.succeed()
  // Another process may have accepted the request.
  if (scopeNames(request.scope).includes(adminScope) && !allowsDeviceAdmin) {
    return { alert: 'The program requests the scope admin, which this service does not allow here.' }
  }
  return request
}

function showEntry(signedIn: SignedIn, userCode: string, notice: Notice): void {
  const other = `${addressOf(readUserCode(userCode))}${readUserCode(userCode) ? '&' : '?'}prompt=login`
  sendPage(signedIn.visit.response, userCodePage({ ...aboutSignedIn(signedIn), other, ...notice }, userCode))
}

const aboutSignedIn = ({ server, user, session }: SignedIn) => ({
  email: user.email,
  token: formToken(server.formKey, session.uid),
})

/** @param userCode contains no character that must be escaped */
const addressOf = (userCode: string | undefined): string =>
  userCode === undefined ? paths.device : `${paths.device}?user_code=${userCode}`

/** Maximum length of all parameters together, in characters, because they are stored. */
const maxLength = 1024

/** Each request stores a record for ten minutes, although it has no credential. */
const capacity = { burst: 30, perSecond: 0.5 }

/** The scope that a device sign-in has only if an admin has enabled it. */
const adminScope = 'admin'

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
