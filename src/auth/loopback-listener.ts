import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HtmlPage } from '../pages/page.ts'
import { renderCallbackPage, renderNothing, renderRedirect } from './callback-page.ts'
import {
  type CallbackExpectation,
  type CallbackResult,
  checkCallback,
  checkPastedUrl,
  hasState,
  type Ignored,
} from './check-callback.ts'
import { FirstBrowser } from './first-browser.ts'
import { type LoopbackAddress, openLoopbackServer } from './loopback-server.ts'
import { findPeerUser } from './peer-user.ts'

export interface LoopbackOptions extends LoopbackAddress {
  path: string
  state: string
  issuer: string | undefined
  requiresIssuer: boolean
  /** Called for a request that has a secret of this sign-in but is ignored, such as one without a code. */
  onIgnored?: (reason: string) => void
}

/** Receives the redirect of the browser (RFC 8252 section 7.3). */
export interface LoopbackListener {
  /** `http://127.0.0.1:53123/callback`; without the port if it is 80. */
  readonly redirectUri: string
  /** The outcome of the flow. Stays pending if no response arrived before `close`. */
  readonly outcome: Promise<SignInOutcome>
  /**
   * Accepts only the browser that opens the start page first.
   *
   * @returns the address of that page, which leads to the authorization URL
   */
  bindToFirstBrowser(authorizationUrl: string): string
  /** Accepts any browser again and returns true, unless one has opened the start page. */
  unbind(): boolean
  /** Checks a pasted redirect URL. If it ends the flow, `outcome` resolves. */
  paste(url: string): CallbackResult
  /** Shows the waiting browser whether the sign-in succeeded. Resolves when the page was sent, or after 2 s. */
  respond(succeeded: boolean): Promise<void>
  /** Ends all connections at once. */
  close(): Promise<void>
}

/** Several browsers opened the start page: one may belong to another user. */
interface Contested {
  kind: 'contested'
}

export type SignInOutcome = Exclude<CallbackResult, Ignored> | Contested

/** Timeout in ms for sending a page to the browser. */
const pageTimeout = 2000

/**
 * Listens for the redirect of the browser. The request that ends the flow gets its response from `respond`, after
 * the tokens were requested, so that the page shows the actual result.
 *
 * @throws Failure `refused` for an invalid path, or if none of the ports is available
 */
export async function listenOnLoopback(options: LoopbackOptions): Promise<LoopbackListener> {
  const { path, state, issuer, requiresIssuer, onIgnored } = options
  const { server, port, close } = await openLoopbackServer(options)
  const { host } = new URL(`http://${options.host === '::1' ? '[::1]' : options.host}:${port}`)
  const expectation: CallbackExpectation = { host, path, state, issuer, requiresIssuer }
  const { promise: outcome, resolve: settle } = Promise.withResolvers<SignInOutcome>()
  let lead: { browser: FirstBrowser; authorizationUrl: string } | undefined
  let isOver = false
  let waiting: ServerResponse | undefined

  const decide = (result: CallbackResult): CallbackResult => {
    if (result.kind === 'ignored') return result
    if (isOver) return { kind: 'ignored', status: 400, reason: 'a second response was ignored' }
    isOver = true
    settle(result)
    return result
  }

  const openStartPage = (
    { browser, authorizationUrl }: NonNullable<typeof lead>,
    request: IncomingMessage,
  ): HtmlPage => {
    if (request.method !== 'GET') return renderNothing(405)
    if (isOver || hostOf(request) !== host) return renderCallbackPage('not-expected')
    const opened = browser.open({
      cookies: request.headers.cookie,
      user: findPeerUser(request.socket),
    })
    if (opened.kind === 'redirected') return renderRedirect(authorizationUrl, opened.cookie)
    if (opened.kind === 'other-user') {
      onIgnored?.('a request from another user, or from a program that has ended, was ignored')
      return renderCallbackPage('not-expected')
    }
    isOver = true
    settle({ kind: 'contested' })
    return renderCallbackPage('not-signed-in')
  }

  server.on('request', (request, response) => {
    const { method = '', url: target = '' } = request
    if (lead?.browser.isStartPage(target)) return void send(response, openStartPage(lead, request))
    const wasOver = isOver
    const cookie = lead?.browser.cookie
    const { cookie: cookies } = request.headers
    const result = decide(
      checkCallback({ method, host: hostOf(request), target, cookies }, { ...expectation, cookie }),
    )
    if (result.kind !== 'ignored') {
      waiting = response
      return
    }
    void send(response, pageFor(result))
    if (!wasOver && hasState(target, state)) onIgnored?.(result.reason)
  })

  return {
    redirectUri: `http://${host}${path}`,
    outcome,
    bindToFirstBrowser(authorizationUrl) {
      const browser = new FirstBrowser(path, port)
      lead = { browser, authorizationUrl }
      return `http://${host}${browser.startPath}`
    },
    unbind() {
      if (lead?.browser.isRedirected) return false
      lead = undefined
      return true
    },
    paste: (url) => decide(checkPastedUrl(url, expectation)),
    async respond(succeeded) {
      const response = waiting
      waiting = undefined
      if (response) await send(response, renderCallbackPage(succeeded ? 'signed-in' : 'not-signed-in'))
    },
    close() {
      isOver = true
      return close()
    },
  }
}

/** The Host header; undefined if there are several, which is invalid (RFC 9112 section 3.2). */
function hostOf(request: IncomingMessage): string | undefined {
  const [host, ...more] = request.headersDistinct['host'] ?? []
  return more.length === 0 ? host : undefined
}

function pageFor({ status }: Ignored): HtmlPage {
  return status === 400 ? renderCallbackPage('not-expected') : renderNothing(status)
}

/** Resolves when the page was sent, the browser has disconnected, or the timeout has passed. */
function send(response: ServerResponse, page: HtmlPage): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (response.closed || response.destroyed) return Promise.resolve()
  const timer = setTimeout(resolve, pageTimeout)
  response.on('error', () => {})
  response.once('close', resolve)
  response.writeHead(page.status, page.headers).end(page.body)
  return promise.finally(() => clearTimeout(timer))
}
