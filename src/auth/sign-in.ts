import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import { Failure } from '../contract/failure.ts'
import type { TokenSet } from '../credentials/stored-credential.ts'
import { unlessAborted } from '../system/unless-aborted.ts'
import { findAuthorizationServer } from './authorization-server.ts'
import {
  type LoopbackListener,
  type LoopbackOptions,
  listenOnLoopback,
  type SignInOutcome,
} from './loopback-listener.ts'
import { exchangeCode } from './token-endpoint.ts'
import { createTransport, type TransportOptions } from './transport.ts'

export interface SignIn {
  authUrl: string
  /** Where the configuration names it. */
  tokenUrl: string | undefined
  clientId: string
  /** Sent exactly as it is. */
  scope: string | undefined
  /** Whether to send a challenge (RFC 7636). */
  pkce: boolean
  /** Where the browser comes back to (RFC 8252 section 7.3). */
  redirect: Pick<LoopbackOptions, 'host' | 'ports' | 'path'>
  /** Milliseconds for the person in the browser. */
  wait: number
  transport: TransportOptions & { signal: AbortSignal }
  /**
   * Opens an address in a browser on this machine, and says whether that worked, perhaps only when
   * the browser ends. Undefined where the person does it, perhaps on another machine.
   */
  openBrowser: ((url: string) => Promise<boolean>) | undefined
  /** Shows the person where to sign in: a browser is being opened, cannot be opened, or is up to them. */
  onAddress: (url: string, browser: 'opening' | 'failed' | 'none') => Promise<void>
  /** Called when something came that the wait goes on after, in words for a person. */
  onIgnored: (reason: string) => void
  /** Redirect URLs that a person pastes, read where no browser was opened here. */
  pasted: (signal: AbortSignal) => AsyncIterable<string>
}

/**
 * The authorization code flow (RFC 6749 section 4.1, RFC 7636, RFC 8252), through a listener on
 * loopback that is open for as long as this takes.
 *
 * @param keep does with the tokens what the sign-in is for; the browser is told that it worked
 *   only after that has
 * @throws Failure `unauthorized` where it was denied or nobody came; else of the network or `keep`
 */
export async function signIn<T>(options: SignIn, keep: (tokens: TokenSet) => Promise<T>): Promise<T> {
  const transport = createTransport(options.transport)
  const server = await findAuthorizationServer(options.authUrl, options.tokenUrl, transport)
  const state = generateRandomState()
  const verifier = options.pkce ? generateRandomCodeVerifier() : undefined
  const listener = await listenOnLoopback({
    ...options.redirect,
    state,
    issuer: server.issuer,
    requiresIssuer: server.sendsIssuer,
    onIgnored: options.onIgnored,
  })
  try {
    const { clientId, scope } = options
    const { redirectUri } = listener
    const url = new URL(server.authorizationEndpoint)
    url.searchParams.set('client_id', clientId)
    url.searchParams.set('redirect_uri', redirectUri)
    url.searchParams.set('response_type', 'code')
    if (scope !== undefined) url.searchParams.set('scope', scope)
    url.searchParams.set('state', state)
    if (verifier !== undefined) {
      url.searchParams.set('code_challenge', await calculatePKCECodeChallenge(verifier))
      url.searchParams.set('code_challenge_method', 'S256')
    }
    const parameters = demandGrant(await waitForOutcome(listener, url.href, options), server.issuer)
    const code = parameters.get('code') ?? ''
    const tokens = await exchangeCode(
      { server, clientId, redirectUri, verifier, scope },
      { code, state },
      transport,
      options.transport.clock,
    )
    const kept = await keep(tokens)
    await listener.answer(true)
    return kept
  } catch (error) {
    await listener.answer(false)
    throw error
  } finally {
    await listener.close()
  }
}

async function waitForOutcome(
  listener: LoopbackListener,
  authorizationUrl: string,
  options: SignIn,
): Promise<SignInOutcome> {
  const { signal, clock } = options.transport
  signal.throwIfAborted()
  const waiting = new AbortController()
  await sendToBrowser(listener, authorizationUrl, options, waiting.signal)
  const late = clock.sleep(options.wait, waiting.signal).then(() => {
    throw nobodyCame(options, listener.redirectUri)
  })
  try {
    return await unlessAborted(Promise.race([listener.outcome, late]), signal)
  } finally {
    waiting.abort()
  }
}

/** A browser on this machine gets the start page: other users can read its command line. */
async function sendToBrowser(
  listener: LoopbackListener,
  authorizationUrl: string,
  options: SignIn,
  waiting: AbortSignal,
): Promise<void> {
  const { openBrowser, onAddress } = options
  if (!openBrowser) {
    await onAddress(authorizationUrl, 'none')
    void readPasted(listener, options, waiting)
    return
  }
  const startUrl = listener.bindToFirstBrowser(authorizationUrl)
  await onAddress(startUrl, 'opening')
  void openBrowser(startUrl).then(async (isOpen) => {
    if (isOpen || waiting.aborted || !listener.unbind()) return
    await onAddress(authorizationUrl, 'failed')
    await readPasted(listener, options, waiting)
  })
}

/** An end of the input ends nothing: the browser may still come. */
async function readPasted(
  listener: LoopbackListener,
  { pasted, onIgnored }: SignIn,
  waiting: AbortSignal,
): Promise<void> {
  for await (const line of pasted(waiting)) {
    if (line.trim() === '') continue
    const verdict = listener.paste(line)
    if (verdict.kind !== 'ignored') return
    onIgnored(verdict.reason)
  }
}

function demandGrant(outcome: SignInOutcome, issuer: string): URLSearchParams {
  switch (outcome.kind) {
    case 'granted':
      return outcome.parameters
    case 'denied': {
      const { error, description } = outcome
      const words = description ? `${error}: ${description}` : error
      throw new Failure('unauthorized', `The authorization server denied the sign-in: ${words}`, {
        code: error,
        advice: error === 'invalid_scope' ? [{ code: 'known_scope' }] : [],
      })
    }
    case 'contested':
      throw new Failure('unauthorized', 'Two browsers opened the sign-in page, so the sign-in was canceled', {
        code: 'sign_in_conflict',
        advice: [{ code: 'sign_in_conflict' }],
      })
    case 'foreign':
      throw new Failure('unauthorized', `The sign-in response does not come from ${issuer}`, {
        code: 'issuer_mismatch',
        advice: [{ code: 'issuer_mismatch' }],
      })
  }
}

function nobodyCame({ wait }: SignIn, redirectUri: string): Failure {
  return new Failure(
    'unauthorized',
    `The sign-in in the browser was not completed within ${wait / 1_000} s`,
    {
      code: 'sign_in_timeout',
      advice: [{ code: 'nobody_came', redirectUri }],
    },
  )
}
