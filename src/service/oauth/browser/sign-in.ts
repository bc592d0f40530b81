import type { InteractionResults } from 'oidc-provider'
import { ApiError } from '../../api-error.ts'
import { verifyPassword } from '../../domain/access/passwords.ts'
import { recordChange } from '../../domain/audit.ts'
import { findEnabledUser } from '../../domain/users.ts'
import type { Database, UserRow } from '../../store/tables.ts'
import { beginAttempt, codeSubjects, passwordSubjects, type SignInAttempt } from '../attempt-throttle.ts'
import { providerNow } from '../lifetimes.ts'
import { paths } from '../metadata.ts'
import { type Notice, waitNotice } from '../pages/oauth-page.ts'
import { codePage, consentPage, type SignInForm, signInPage } from '../pages/sign-in-page.ts'
import { contextOfVisit, recordSignIn } from '../record-sign-ins.ts'
import { digestOfReference } from '../records.ts'
import { scopeNames, scopes } from '../scopes.ts'
import { consumeCode, hasSecondFactor } from '../second-factor.ts'
import { signOut } from './account.ts'
import { findKnownBrowser, findSession, openSession, rememberBrowser, setCookie } from './browser-cookies.ts'
import {
  formToken,
  type OAuthServer,
  PageError,
  type PageRequest,
  readForm,
  redirect,
  sendPage,
} from './browser-request.ts'

type Interaction = Awaited<ReturnType<OAuthServer['provider']['interactionDetails']>>

interface SignIn extends PageRequest {
  interaction: Interaction
}

/** Maximum time between password and code, in ms. */
const codeTimeout = 5 * 60_000

/** Begins a sign-in for a page of this service: an interaction without a redirect URI. */
export async function beginSignIn(page: PageRequest, returnPath: string): Promise<void> {
  const { server, visit } = page
  const { provider, issuer, startLimit } = server
  startLimit.demandFor(visit.address)
  const life = 3600
  const uid = crypto.randomUUID()
  const path = `${paths.signIn}/${uid}`
  const prompt = { name: 'login', reasons: [], details: {} }
  const Begun = provider.Interaction as unknown as new (uid: string, payload: object) => Interaction
  const interaction = new Begun(uid, { returnTo: issuer + returnPath, prompt, params: {} })
  await interaction.save(life)
  setCookie(page, 'interaction', { value: uid, path, life })
  redirect(visit.response, path)
}

/** Shows the current page of a sign-in: password, code, or consent. */
export async function showSignIn(page: PageRequest): Promise<void> {
  await showStep(await findSignIn(page), {}, '')
}

export async function submitSignIn(page: PageRequest): Promise<void> {
  const signIn = await findSignIn(page)
  const { interaction } = signIn
  const form = await readForm(page, interaction.uid)
  const program = redirectUriOf(interaction)
  if (form.get('decision') === 'deny' && program !== undefined) return deny(signIn, program)
  if (interaction.prompt.name === 'consent') return agree(signIn)
  const pending = await pendingUser(signIn)
  if (pending) return submitCode(signIn, pending, form.get('code') ?? '')
  await submitPassword(signIn, form.get('email') ?? '', form.get('password') ?? '')
}

async function submitPassword(signIn: SignIn, email: string, password: string): Promise<void> {
  const { server, visit } = signIn
  const { db, provider, clock } = server
  server.removeExpired()
  const subjects = passwordSubjects(attemptOf(signIn, email))
  const attempt = await beginAttempt(db, subjects, clock.now())
  if ('wait' in attempt) return showStep(signIn, waitNotice(attempt.wait), email)
  const user = await attempt.judge(checkPassword(db, email, password))
  if (!user || user.disabled_at !== null) {
    // Only a user with the right password learns it.
    const alert = user ? 'This user is disabled.' : 'Wrong email or password.'
    await showStep(signIn, { alert }, email)
    return recordFailure(signIn, email, user ? 'disabled' : 'password')
  }
  await attempt.succeed()
  if (!(await hasSecondFactor(db, user.id))) return complete(signIn, user, ['pwd'])
  const pending = { pending: { user: user.id, at: clock.now() } }
  const { request, response } = visit
  await provider.interactionResult(request, response, pending, { mergeWithLastSubmission: false })
  redirect(response, visit.url.pathname)
}

/**
 * The user with an email and a password, or undefined. It takes as long for an unknown email and for a user
 * without a password.
 */
async function checkPassword(db: Database, email: string, password: string): Promise<UserRow | undefined> {
  const user = await findUser(db, email)
  const isRight = await verifyPassword(user?.password_hash ?? null, password)
  return isRight ? user : undefined
}

const findUser = (db: Database, email: string): Promise<UserRow | undefined> =>
  db.selectFrom('users').selectAll().where('email_key', '=', email.trim().toLowerCase()).executeTakeFirst()

/** Call it after the response, whose time must not tell whether there is such a user. */
async function recordFailure(
  { server, visit }: SignIn,
  email: string,
  wrong: 'password' | 'code' | 'disabled',
): Promise<void> {
  const user = await findUser(server.db, email)
  if (!user) return
  const by = contextOfVisit(visit, 'anonymous', server.clock)
  const after = { wrong, address: visit.address }
  await recordChange(server.db, by, { action: 'sign_in.failed', target: user.id, before: null, after })
}

async function submitCode(signIn: SignIn, user: UserRow, code: string): Promise<void> {
  const { server, visit } = signIn
  const { db, clock } = server
  const subjects = codeSubjects(attemptOf(signIn, user.email))
  const attempt = await beginAttempt(db, subjects, clock.now())
  if ('wait' in attempt) return showStep(signIn, waitNotice(attempt.wait), '')
  const by = contextOfVisit(visit, user.id, clock)
  if (await attempt.judge(consumeCode(server, user.id, code, by))) {
    await attempt.succeed()
    return complete(signIn, user, ['pwd', 'otp'])
  }
  const alert = 'Wrong or already used code. Wait for the next one.'
  await showStep(signIn, { alert }, '')
  await recordFailure(signIn, user.email, 'code')
}

async function complete(signIn: SignIn, user: UserRow, methods: string[]): Promise<void> {
  const { server, visit, interaction } = signIn
  rememberBrowser(signIn, user.email)
  const login = { accountId: user.id, amr: methods }
  if (interaction.session && interaction.session.accountId !== user.id) {
    // Another user was signed in to this browser; their session ends now.
    delete interaction.session
    interaction.result = { login }
    await interaction.save(interaction.exp - providerNow())
  }
  const before = await findSession(signIn)
  const isOther = before !== undefined && before.accountId !== user.id
  if (isOther) await signOut(signIn, before)
  const session = await openSession(signIn, user.id, methods, isOther ? undefined : before)
  const begun = { userId: user.id, kind: 'browser', hash: digestOfReference(session.uid) } as const
  await recordSignIn(server, visit, 'sign_in.succeeded', begun)
  if (redirectUriOf(interaction) === undefined) {
    await interaction.destroy()
    return redirect(visit.response, interaction.returnTo)
  }
  await finish(signIn, { login })
}

/** Each consent is a separate grant, so that signing out on one machine does not end the others. */
async function agree(signIn: SignIn): Promise<void> {
  const { params, session, lastSubmission } = signIn.interaction
  const grant = new signIn.server.provider.Grant({
    accountId: session?.accountId,
    clientId: String(params['client_id']),
  })
  grant.addOIDCScope(String(params['scope']))
  await finish(signIn, { ...lastSubmission, consent: { grantId: await grant.save() } })
}

/**
 * Tells the program that the user said no (RFC 6749 section 4.1.2.1). Not as a result of the
 * interaction: that would be stored, and anyone can say no.
 */
async function deny({ server, visit, interaction }: SignIn, program: string): Promise<void> {
  const { state } = interaction.params
  await interaction.destroy()
  const address = new URL(program)
  const answer = {
    error: 'access_denied',
    error_description: 'The user denied the request',
    state,
    iss: server.issuer,
  }
  for (const [name, value] of Object.entries(answer))
    if (typeof value === 'string') address.searchParams.set(name, value)
  redirect(visit.response, address.href)
}

const attemptOf = (signIn: SignIn, email: string): SignInAttempt => ({
  email,
  address: signIn.visit.address,
  browser: findKnownBrowser(signIn, email),
})

const finish = ({ server, visit: { request, response } }: SignIn, result: InteractionResults) =>
  server.provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })

async function findSignIn({ server, visit }: PageRequest): Promise<SignIn> {
  const { request, response, url } = visit
  const interaction = await server.provider.interactionDetails(request, response).catch((error: Error) => {
    if (error.name === 'SessionNotFound') return undefined
    throw error
  })
  if (interaction && url.pathname === `${paths.signIn}/${interaction.uid}`)
    return { server, visit, interaction }
  throw new PageError(400, 'This sign-in has ended', 'Start again in the program that you came from.')
}

/** The user whose password was correct, before the code. */
async function pendingUser({ server, interaction }: SignIn): Promise<UserRow | undefined> {
  const pending = interaction.result?.['pending'] as { user: string; at: number } | undefined
  if (!pending || server.clock.now() - pending.at > codeTimeout) return undefined
  return findEnabledUser(server.db, pending.user)
}

/** The redirect URI of the program that began the sign-in. */
function redirectUriOf({ params }: Interaction): string | undefined {
  const uri = params['redirect_uri']
  return typeof uri === 'string' ? uri : undefined
}

async function showStep(signIn: SignIn, notice: Notice, email: string): Promise<void> {
  const { server, visit, interaction } = signIn
  const { uid, prompt, params, session } = interaction
  const form: SignInForm = {
    action: `${paths.signIn}/${uid}`,
    token: formToken(server.formKey, uid),
    redirectUri: redirectUriOf(interaction),
    ...notice,
  }
  if (prompt.name !== 'consent') {
    const page = (await pendingUser(signIn)) ? codePage(form) : signInPage(form, email)
    return sendPage(visit.response, page)
  }
  const user = await findEnabledUser(server.db, session?.accountId)
  if (!user) throw new ApiError('unauthorized', 'Not signed in')
  const query = new URLSearchParams({ ...(params as Record<string, string>), prompt: 'login' })
  const rights = scopeNames(String(params['scope'])).flatMap((name) => scopes[name]?.description ?? [])
  const about = { email: user.email, rights, other: `${paths.authorize}?${query}` }
  sendPage(visit.response, consentPage(form, about))
}
