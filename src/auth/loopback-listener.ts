import { once } from 'node:events'
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Failure } from '../contract/failure.ts'
import type { HtmlPage } from '../pages/page.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import { renderCallbackPage, renderNothing, renderRedirect } from './callback-page.ts'
import {
  type CallbackExpectation,
  type CallbackResult,
  checkCallback,
  checkPastedUrl,
  hasState,
  type Ignored,
} from './check-callback.ts'
import { FirstBrowser, findPeerUser } from './first-browser.ts'

export interface LoopbackOptions {
  host: '127.0.0.1' | '::1'
  /** Tried in order; 0 means any free port. */
  ports: readonly number[]
  path: string
  state: string
  issuer: string | undefined
  requiresIssuer: boolean
  /** Called for a request that has a secret of this sign-in but is ignored, such as one without a code. */
  onIgnored?: (reason: string) => void
}

/** `contested`: several browsers opened the start page, and one may belong to another user. */
export type SignInOutcome = Exclude<CallbackResult, Ignored> | { kind: 'contested' }

/** Timeout in ms for sending a page to the browser. */
const pageTimeout = 2000

const serverOptions: ServerOptions = {
  headersTimeout: 5000,
  requestTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 500,
  // Cookies are shared between ports, so the browser also sends those of other services on this address.
  maxHeaderSize: 65_536,
}

/** Listens for the redirect of the browser. @throws Failure `refused` if none of the ports is available */
export async function listenOnLoopback(options: LoopbackOptions): Promise<LoopbackListener> {
  // Not an import, which would load the module for every renewal of tokens.
  const server = process.getBuiltinModule('node:http').createServer(serverOptions)
  const { port } = await listen(server, options)
  return new LoopbackListener(server, port, options)
}

/**
 * Receives the redirect of the browser (RFC 8252 section 7.3). The request that ends the flow gets its response from
 * `respond`, after the tokens were requested, so that the page shows the actual result.
 */
export class LoopbackListener {
  /** The outcome of the flow. Stays pending if no response arrived before `close`. */
  readonly outcome: Promise<SignInOutcome>
  readonly #settle: (outcome: SignInOutcome) => void
  readonly #server: Server
  readonly #port: number
  readonly #onIgnored: LoopbackOptions['onIgnored']
  readonly #expectation: CallbackExpectation
  /** Whether the flow has ended. */
  #isOver = false
  #lead: { browser: FirstBrowser; authorizationUrl: string } | undefined
  #waiting: ServerResponse | undefined

  constructor(server: Server, port: number, { onIgnored, ...options }: LoopbackOptions) {
    const { promise, resolve } = Promise.withResolvers<SignInOutcome>()
    this.outcome = promise
    this.#settle = resolve
    this.#server = server
    this.#port = port
    this.#onIgnored = onIgnored
    // The URL parser omits port 80.
    const { host } = new URL(`http://${options.host === '::1' ? '[::1]' : options.host}:${port}`)
    this.#expectation = { ...options, host }
    server.on('request', (request, response) => this.#receive(request, response))
  }

  /** `http://127.0.0.1:53123/callback`; without the port if it is 80. */
  get redirectUri(): string {
    return `http://${this.#expectation.host}${this.#expectation.path}`
  }

  /**
   * Accepts only the browser that opens the start page first.
   * @returns the address of that page, which leads to the authorization URL
   */
  bindToFirstBrowser(authorizationUrl: string): string {
    const browser = new FirstBrowser(this.#expectation.path, this.#port)
    this.#lead = { browser, authorizationUrl }
    return `http://${this.#expectation.host}${browser.startPath}`
  }

  /** Accepts any browser again and returns true, unless one has opened the start page. */
  unbind(): boolean {
    if (this.#lead?.browser.isRedirected) return false
    this.#lead = undefined
    return true
  }

  /** Checks a pasted redirect URL. If it ends the flow, `outcome` resolves. */
  paste(url: string): CallbackResult {
    return this.#decide(checkPastedUrl(url, this.#expectation))
  }

  /** Shows the waiting browser whether the sign-in succeeded. Resolves when the page was sent, or after 2 s. */
  async respond(succeeded: boolean): Promise<void> {
    const response = this.#waiting
    this.#waiting = undefined
    if (response) await send(response, renderCallbackPage(succeeded ? 'signed-in' : 'not-signed-in'))
  }

  /** Ends all connections immediately. */
  async close(): Promise<void> {
    this.#isOver = true
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url: target = '' } = request
    const lead = this.#lead
    if (lead?.browser.isStartPage(target)) return void send(response, this.#openStartPage(lead, request))
    const wasOver = this.#isOver
    const { host, cookie: cookies } = request.headers
    const expectation = { ...this.#expectation, cookie: lead?.browser.cookie }
    const result = this.#decide(checkCallback({ method, host, target, cookies }, expectation))
    if (result.kind !== 'ignored') {
      this.#waiting = response
      return
    }
    const { status } = result
    void send(response, status === 400 ? renderCallbackPage('not-expected') : renderNothing(status))
    if (!wasOver && hasState(target, expectation.state)) this.#onIgnored?.(result.reason)
  }

  #decide(result: CallbackResult): CallbackResult {
    if (result.kind === 'ignored') return result
    if (this.#isOver) return { kind: 'ignored', status: 400, reason: 'a second response was ignored' }
    this.#isOver = true
    this.#settle(result)
    return result
  }

  #openStartPage(
    { browser, authorizationUrl }: { browser: FirstBrowser; authorizationUrl: string },
    { method, headers, socket }: IncomingMessage,
  ): HtmlPage {
    if (method !== 'GET') return renderNothing(405)
    if (this.#isOver || headers.host !== this.#expectation.host) return renderCallbackPage('not-expected')
    const opened = browser.open(headers.cookie, findPeerUser(socket))
    if (typeof opened === 'object') return renderRedirect(authorizationUrl, opened.cookie)
    if (opened === 'other-user') {
      this.#onIgnored?.('a request from another user, or from a program that has ended, was ignored')
      return renderCallbackPage('not-expected')
    }
    this.#isOver = true
    this.#settle({ kind: 'contested' })
    return renderCallbackPage('not-signed-in')
  }
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

async function listen(server: Server, { host, ports }: LoopbackOptions): Promise<AddressInfo> {
  const tried: string[] = []
  for (const port of ports) {
    try {
      return await bind(server, host, port)
    } catch (cause) {
      tried.push(describeRefusal(cause, host, port))
    }
  }
  throw new Failure('refused', `Cannot listen on ${host} for the browser: ${tried.join(', ')}`, {
    hint: 'Choose another port with --redirect-port. The authorization server must allow it in the redirect URI.',
  })
}

async function bind(server: Server, host: string, port: number): Promise<AddressInfo> {
  server.listen({ host, port })
  await once(server, 'listening')
  // Later errors are about single connections that could not be accepted.
  server.on('error', () => {})
  return server.address() as AddressInfo
}

/** @throws Failure `refused` if the machine does not have the address, so that no port can be available */
function describeRefusal(cause: unknown, host: string, port: number): string {
  switch ((cause as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `port ${port} is in use`
    case 'EACCES':
      return `no permission for port ${port}`
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL': {
      const other = host === '::1' ? '127.0.0.1' : '::1'
      throw new Failure('refused', `This machine has no address ${host}`, {
        hint: `Use the other loopback address with: --redirect-host ${other}`,
        cause,
      })
    }
    default:
      return `port ${port}: ${describeSystemError(cause)}`
  }
}
