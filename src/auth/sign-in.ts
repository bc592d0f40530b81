import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import { Failure } from '../contract/failure.ts'
import { unlessAborted } from '../system/unless-aborted.ts'
import { findAuthorizationServer } from './authorization-server.ts'
import type { TokenSet } from './credentials/stored-credential.ts'
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
  /** The configured token endpoint, if any. */
  tokenUrl: string | undefined
  clientId: string
  /** Sent exactly as it is. */
  scope: string | undefined
  /** Whether to send a challenge (RFC 7636). */
  pkce: boolean
  /** The redirect URI (RFC 8252 section 7.3). */
  redirect: Pick<LoopbackOptions, 'host' | 'ports' | 'path'>
  /** Timeout in ms for the user in the browser. */
  wait: number
  transport: TransportOptions & { signal: AbortSignal }
  /**
   * Opens an address in a browser on this machine. Resolves to whether that succeeded, possibly only when the
   * browser ends. Undefined if the user opens the address, possibly on another machine.
   */
  openBrowser: ((url: string) => Promise<boolean>) | undefined
  /** Shows the address to the user. `none`: the user opens the browser. */
  onAddress: (url: string, browser: 'opening' | 'failed' | 'none') => Promise<void>
  /** Called with a description of an ignored response, after which the wait continues. */
  onIgnored: (reason: string) => void
  /** Redirect URLs that the user pastes, if no browser was opened on this machine. */
  pasted: (signal: AbortSignal) => AsyncIterable<string>
}

/**
 * Runs the authorization code flow (RFC 6749 section 4.1, RFC 7636, RFC 8252) with a listener on loopback.
 * @param keep stores the tokens. The browser shows success only after it has resolved.
 * @throws Failure `unauthorized` if the sign-in was denied or timed out; a failure of the network or of `keep`
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
      code,
      transport,
      options.transport.clock,
    )
    const kept = await keep(tokens)
    await listener.respond(true)
    return kept
  } catch (error) {
    await listener.respond(false)
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
    throw signInTimedOut(options, listener.redirectUri)
  })
  try {
    return await unlessAborted(Promise.race([listener.outcome, late]), signal)
  } finally {
    waiting.abort()
  }
}

/** A browser on this machine gets the start page, because other users can read its command line. */
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

/** The wait continues after the end of the input, because the browser may still be redirected. */
async function readPasted(
  listener: LoopbackListener,
  { pasted, onIgnored }: SignIn,
  waiting: AbortSignal,
): Promise<void> {
  for await (const line of pasted(waiting)) {
    if (line.trim() === '') continue
    const result = listener.paste(line)
    if (result.kind !== 'ignored') return
    onIgnored(result.reason)
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
        hint:
          error === 'invalid_scope'
            ? 'Request a scope that the authorization server supports, with --scope.'
            : undefined,
      })
    }
    case 'contested':
      throw new Failure('unauthorized', 'Two browsers opened the sign-in page, so the sign-in was canceled', {
        code: 'sign_in_conflict',
        hint: 'Another user of this machine may have tried to sign you in as their own user. Sign in again. To open the URL yourself, add --no-browser.',
      })
    case 'foreign':
      throw new Failure('unauthorized', `The sign-in response does not come from ${issuer}`, {
        code: 'issuer_mismatch',
        hint: 'The response may be forged. If the authorization server uses another issuer name, set it with --auth-url.',
      })
  }
}

function signInTimedOut({ wait }: SignIn, redirectUri: string): Failure {
  return new Failure('unauthorized', `The browser sign-in was not completed within ${wait / 1_000} s`, {
    code: 'sign_in_timeout',
    hint: `If the browser shows an error instead of a sign-in page, the authorization server probably does not know the client ID, or does not allow the redirect URI ${redirectUri}. If the browser is on another machine, add --no-browser and paste the address of the last page.`,
  })
}
