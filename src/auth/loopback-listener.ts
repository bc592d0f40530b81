import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Page } from '../pages/page.ts'
import {
  type CallbackExpectation,
  type CallbackVerdict,
  carriesState,
  type Ignored,
  judgeCallback,
  judgePastedUrl,
} from './callback.ts'
import { renderCallbackPage, renderNothing, renderRedirect } from './callback-page.ts'
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

/** Where the browser comes back to (RFC 8252 section 7.3). */
export interface LoopbackListener {
  /** `http://127.0.0.1:53123/callback`; without the port where that is 80. */
  readonly redirectUri: string
  /** What ends the flow. Never settles where nothing came before `close`. */
  readonly outcome: Promise<SignInOutcome>
  /**
   * Accepts only the browser that opens the start page first.
   * @returns the address of that page, which leads to the authorization URL
   */
  bindToFirstBrowser(authorizationUrl: string): string
  /** Accepts any browser again and returns true, unless one has opened the start page. */
  unbind(): boolean
  /** Judges a pasted redirect URL; one that ends the flow settles `outcome`. */
  paste(url: string): CallbackVerdict
  /** Shows the browser that waits whether it worked. Resolves when that was sent, or after 2 s. */
  answer(worked: boolean): Promise<void>
  /** Ends all connections at once. */
  close(): Promise<void>
}

/** Several browsers opened the start page: one may belong to another user. */
interface Contested {
  kind: 'contested'
}

export type SignInOutcome = Exclude<CallbackVerdict, Ignored> | Contested

/** How long, in ms, a browser may take to receive its page. */
const longestAnswer = 2000

/**
 * Listens for the browser that comes back from signing in. The request that ends the flow is
 * answered only by `answer`, so that its page tells the truth about what came after it.
 * @throws Failure `refused` for a path that is none, and where none of the ports can be had
 */
export async function listenOnLoopback(options: LoopbackOptions): Promise<LoopbackListener> {
  const { path, state, issuer, requiresIssuer, onIgnored } = options
  const { server, port, close } = await openLoopbackServer(options)
  const { host } = new URL(`http://${options.host === '::1' ? '[::1]' : options.host}:${port}`)
  const expectation: CallbackExpectation = { host, path, state, issuer, requiresIssuer }
  const { promise: outcome, resolve: settle } = Promise.withResolvers<SignInOutcome>()
  let lead: { browser: FirstBrowser; authorizationUrl: string } | undefined
  let over = false
  let waiting: ServerResponse | undefined

  const decide = (verdict: CallbackVerdict): CallbackVerdict => {
    if (verdict.kind === 'ignored') return verdict
    if (over) return { kind: 'ignored', status: 400, reason: 'a second response was ignored' }
    over = true
    settle(verdict)
    return verdict
  }

  const welcome = (
    { browser, authorizationUrl }: NonNullable<typeof lead>,
    request: IncomingMessage,
  ): Page => {
    if (request.method !== 'GET') return renderNothing(405)
    if (over || hostOf(request) !== host) return renderCallbackPage('not-expected')
    const welcomed = browser.welcome({
      cookies: request.headers.cookie,
      user: findPeerUser(request.socket),
    })
    if (welcomed.kind === 'redirected') return renderRedirect(authorizationUrl, welcomed.cookie)
    if (welcomed.kind === 'other-user') {
      onIgnored?.('a request from another user, or from a program that has ended, was ignored')
      return renderCallbackPage('not-expected')
    }
    over = true
    settle({ kind: 'contested' })
    return renderCallbackPage('not-signed-in')
  }

  server.on('request', (request, response) => {
    const { method = '', url: target = '' } = request
    if (lead?.browser.isStartPage(target)) return void send(response, welcome(lead, request))
    const decided = over
    const cookie = lead?.browser.cookie
    const { cookie: cookies } = request.headers
    const verdict = decide(
      judgeCallback({ method, host: hostOf(request), target, cookies }, { ...expectation, cookie }),
    )
    if (verdict.kind !== 'ignored') {
      waiting = response
      return
    }
    void send(response, pageFor(verdict))
    if (!decided && carriesState(target, state)) onIgnored?.(verdict.reason)
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
    paste: (url) => decide(judgePastedUrl(url, expectation)),
    async answer(worked) {
      const response = waiting
      waiting = undefined
      if (response) await send(response, renderCallbackPage(worked ? 'signed-in' : 'not-signed-in'))
    },
    close() {
      over = true
      return close()
    },
  }
}

/** One Host, or none: a request with several is refused (RFC 9112 section 3.2). */
function hostOf(request: IncomingMessage): string | undefined {
  const [host, ...more] = request.headersDistinct['host'] ?? []
  return more.length === 0 ? host : undefined
}

function pageFor({ status }: Ignored): Page {
  return status === 400 ? renderCallbackPage('not-expected') : renderNothing(status)
}

/** Resolves when all was sent, when the browser has gone, or when it takes too long. */
function send(response: ServerResponse, page: Page): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (response.closed || response.destroyed) return Promise.resolve()
  const timer = setTimeout(resolve, longestAnswer)
  response.on('error', () => {})
  response.once('close', resolve)
  response.writeHead(page.status, page.headers).end(page.body)
  return promise.finally(() => clearTimeout(timer))
}
