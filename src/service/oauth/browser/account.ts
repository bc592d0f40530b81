import { passwordLength } from '../../../contract/resources/password-length.ts'
import { hashPassword, verifyPassword } from '../../domain/access/passwords.ts'
import { type AuditContext, recordChange } from '../../domain/audit.ts'
import { findEnabledUser, storePassword } from '../../domain/users.ts'
import type { UserRow } from '../../store/tables.ts'
import { beginAttempt, sessionSubjects } from '../attempt-throttle.ts'
import { paths } from '../metadata.ts'
import { accountPage, signedOutPage } from '../pages/account-page.ts'
import { type Notice, waitNotice } from '../pages/oauth-page.ts'
import { contextOfVisit, recordSignIn } from '../record-sign-ins.ts'
import { digestOfReference } from '../records.ts'
import {
  beginSecondFactor,
  cancelSecondFactor,
  confirmSecondFactor,
  consumeCode,
  hasSecondFactor,
  readRecoveryCode,
  readUnconfirmed,
  removeSecondFactor,
} from '../second-factor.ts'
import {
  type BrowserSession,
  closeSession,
  extendSession,
  findSession,
  renewSession,
} from './browser-cookies.ts'
import { formToken, PageError, type PageRequest, readForm, redirect, sendPage } from './browser-request.ts'
import { endOtherSessions, endSessions, listSessions, signInSessionIdOf } from './sign-in-sessions.ts'

export interface SignedIn extends PageRequest {
  user: UserRow
  /** Of the changes that the user makes. */
  by: AuditContext
  session: BrowserSession
  /** The public id of the session. */
  sessionId: string
}

/** Shows the account of the user who is signed in, or redirects to the sign-in page. */
export async function showAccount(page: PageRequest): Promise<void> {
  const signedIn = await findSignedIn(page)
  if (!signedIn) return redirect(page.visit.response, paths.signIn)
  await extendSession(page, signedIn.session)
  await show(signedIn, {})
}

export async function submitAccount(page: PageRequest): Promise<void> {
  const { response } = page.visit
  const signedIn = await findSignedIn(page)
  if (!signedIn) return redirect(response, paths.signIn)
  const form = await readForm(page, signedIn.session.uid)
  const action = form.get('do') ?? ''
  if (action === 'sign-out') {
    await signOut(page, signedIn.session)
    return sendPage(response, signedOutPage())
  }
  const act = Object.hasOwn(actions, action) ? actions[action] : undefined
  if (!act) throw new PageError(400, 'This form is not valid here', 'Go back and reload the page.')
  await show(signedIn, await act(signedIn, form))
}

/** Ends the sign-in session of the browser, and records it. */
export async function signOut(page: PageRequest, session: BrowserSession): Promise<void> {
  await closeSession(page, session)
  const [userId, hash] = [session.accountId ?? '', digestOfReference(session.uid)]
  await recordSignIn(page.server, page.visit, 'sign_out', { userId, kind: 'browser', hash })
}

const actions: Record<string, (signedIn: SignedIn, form: URLSearchParams) => Promise<Notice>> = {
  async end({ server: { db, clock }, user, by }, form) {
    const chosen = (await listSessions(db, clock, user.id)).filter(({ id }) => id === form.get('id'))
    await db.transaction().execute((transaction) => endSessions(transaction, by, chosen))
    return chosen.length > 0
      ? { done: 'The sign-in session was ended.' }
      : { alert: 'The sign-in session has already ended.' }
  },
  async 'end-others'({ server, sessionId, by }) {
    await server.db.transaction().execute((transaction) => endOtherSessions(transaction, by, sessionId))
    return { done: 'All other sign-in sessions were ended.' }
  },
  async password(signedIn, form) {
    const wanted = form.get('new') ?? ''
    const { min, max } = passwordLength
    if ([...wanted].length < min || [...wanted].length > max) {
      return { alert: `The new password must have ${min} to ${max.toLocaleString('en')} characters.` }
    }
    const refused = await requirePassword(signedIn, form)
    if (refused) return refused
    const hash = await hashPassword(wanted)
    const { server, user, session, sessionId, by } = signedIn
    await server.db.transaction().execute(async (transaction) => {
      await storePassword(transaction, user.id, hash, by)
      await endOtherSessions(transaction, by, sessionId)
      await recordChange(transaction, by, {
        action: 'user.password',
        target: user.id,
        before: null,
        after: { password_changed: true },
      })
    })
    await renewSession(signedIn, session)
    return { done: 'The password was changed, and all other sign-in sessions were ended.' }
  },
  async 'factor-begin'(signedIn, form) {
    // Otherwise, anyone with an open browser could lock its owner out permanently.
    const refused = await requirePassword(signedIn, form)
    if (refused) return refused
    const { server, user } = signedIn
    await beginSecondFactor(server, user.id)
    return {}
  },
  async 'factor-cancel'({ server, user }) {
    await cancelSecondFactor(server.db, user.id)
    return {}
  },
  async 'factor-confirm'(signedIn, form) {
    const { server, user, session, by } = signedIn
    const { db, clock } = server
    if (await hasSecondFactor(db, user.id)) return {}
    const attempt = await beginAttempt(db, sessionSubjects(user.email, session.uid, 'code'), clock.now())
    if ('wait' in attempt) return waitNotice(attempt.wait)
    if (!(await attempt.judge(consumeCode(server, user.id, form.get('code') ?? '', by)))) {
      return { alert: 'Wrong code. Wait for the next one.' }
    }
    await attempt.succeed()
    await confirmSecondFactor(db, user.id, by)
    return { done: `The second factor is now on. ${await describeRecovery(signedIn)}` }
  },
  async 'factor-recovery'(signedIn, form) {
    const refused = await requirePassword(signedIn, form)
    return refused ?? { done: await describeRecovery(signedIn) }
  },
  async 'factor-off'(signedIn, form) {
    const refused = await requirePassword(signedIn, form)
    if (refused) return refused
    const { server, user, by } = signedIn
    await removeSecondFactor(server.db, user.id, by)
    return { done: 'The second factor is now off.' }
  },
}

async function describeRecovery({ server, user }: SignedIn): Promise<string> {
  const code = await readRecoveryCode(server, user.id)
  return code === undefined
    ? 'The second factor is off.'
    : `Your recovery code is ${code}. Keep it in a safe place. If you lose your authenticator app, enter the recovery code instead: it works once, and turns the second factor off.`
}

/** @returns an error notice; undefined if the form contains the user's password */
async function requirePassword(signedIn: SignedIn, form: URLSearchParams): Promise<Notice | undefined> {
  const { server, user, session } = signedIn
  const { db, clock } = server
  const attempt = await beginAttempt(db, sessionSubjects(user.email, session.uid, 'password'), clock.now())
  if ('wait' in attempt) return waitNotice(attempt.wait)
  const check = verifyPassword(user.password_hash, form.get('password') ?? '')
  if (!(await attempt.judge(check))) {
    return { alert: 'Wrong current password.' }
  }
  await attempt.succeed()
  return undefined
}

export async function findSignedIn(page: PageRequest): Promise<SignedIn | undefined> {
  const { server, visit } = page
  const session = await findSession(page)
  if (!session) return undefined
  const user = await findEnabledUser(server.db, session.accountId)
  if (!user) return undefined
  const by = contextOfVisit(visit, user.id, server.clock)
  return { ...page, user, by, session, sessionId: signInSessionIdOf(digestOfReference(session.uid)) }
}

async function show({ server, visit, user, session, sessionId }: SignedIn, notice: Notice): Promise<void> {
  const { db, formKey, clock } = server
  const page = accountPage({
    email: user.email,
    token: formToken(formKey, session.uid),
    ownId: sessionId,
    sessions: await listSessions(db, clock, user.id),
    hasSecondFactor: await hasSecondFactor(db, user.id),
    unconfirmed: await readUnconfirmed(server, user),
    ...notice,
  })
  sendPage(visit.response, page)
}
