import { once } from 'node:events'
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Failure } from '../contract/failure.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import {
  type CallbackExpectation,
  carriesState,
  type Ignored,
  judgeCallback,
  judgePastedUrl,
  type Verdict,
} from './callback.ts'
import { type Page, renderNothing, renderPage, renderRedirect } from './callback-page.ts'
import { FirstBrowser } from './first-browser.ts'
import { findPeerUser } from './peer-user.ts'

export interface LoopbackOptions {
  host: '127.0.0.1' | '::1'
  /** Tried in order; 0 is any that is free. */
  ports: readonly number[]
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
  readonly outcome: Promise<Outcome>
  /**
   * Accepts only the browser that opens the start page first.
   * @returns the address of that page, which leads to the authorization URL
   */
  bindToFirstBrowser(authorizationUrl: string): string
  /** Accepts any browser again and returns true, unless one has opened the start page. */
  unbind(): boolean
  /** Judges a pasted redirect URL; one that ends the flow settles `outcome`. */
  paste(url: string): Verdict
  /** Shows the browser that waits whether it worked. Resolves when that was sent, or after 2 s. */
  answer(worked: boolean): Promise<void>
  /** Ends all connections at once. */
  close(): Promise<void>
}

/** Several browsers opened the start page: one may belong to another user. */
interface Contested {
  kind: 'contested'
}

export type Outcome = Exclude<Verdict, Ignored> | Contested

/** How long, in ms, a browser may take to receive its page. */
const longestAnswer = 2000

/** Somebody else's connections may be slow, idle or many: each is cut after 5 s, and none is in the way. */
const serverOptions: ServerOptions = {
  headersTimeout: 5000,
  requestTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 500,
  // Cookies know no port: a browser sends along those of every other service on this address.
  maxHeaderSize: 65_536,
  // A request without a Host is judged like any other.
  requireHostHeader: false,
}

/** Connections that the system may hold until we get to them; where it allows fewer, fewer. */
const backlog = 4096

/**
 * Listens for the browser that comes back from signing in. The request that ends the flow is
 * answered only by `answer`, so that its page tells the truth about what came after it.
 * @throws Failure `refused` for a path that is none, and where none of the ports can be had
 */
export async function listenOnLoopback(options: LoopbackOptions): Promise<LoopbackListener> {
  const { path, state, issuer, requiresIssuer, onIgnored } = options
  // Imported by name it would cost every start of the program.
  const server = process.getBuiltinModule('node:http').createServer(serverOptions)
  const sockets = holdSockets(server)
  const { port } = await listen(server, options)
  const { host } = new URL(`http://${options.host === '::1' ? '[::1]' : options.host}:${port}`)
  const expectation: CallbackExpectation = { host, path, state, issuer, requiresIssuer }
  const { promise: outcome, resolve: settle } = Promise.withResolvers<Outcome>()
  let lead: { browser: FirstBrowser; authorizationUrl: string } | undefined
  let over = false
  let waiting: ServerResponse | undefined
  let closed: Promise<void> | undefined

  const decide = (verdict: Verdict): Verdict => {
    if (verdict.kind === 'ignored') return verdict
    if (over) return { kind: 'ignored', status: 400, reason: 'this sign-in has had its answer' }
    over = true
    settle(verdict)
    return verdict
  }

  const welcome = (
    { browser, authorizationUrl }: NonNullable<typeof lead>,
    request: IncomingMessage,
  ): Page => {
    if (request.method !== 'GET') return renderNothing(405)
    if (over || hostOf(request) !== host) return renderPage('not-expected')
    const welcomed = browser.welcome({
      cookies: request.headers.cookie,
      user: findPeerUser(request.socket),
    })
    if (welcomed.kind === 'redirected') return renderRedirect(authorizationUrl, welcomed.cookie)
    if (welcomed.kind === 'other-user') {
      onIgnored?.('another user of this machine, or a program that has ended, asked for the sign-in page')
      return renderPage('not-expected')
    }
    over = true
    settle({ kind: 'contested' })
    return renderPage('not-signed-in')
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
      if (response) await send(response, renderPage(worked ? 'signed-in' : 'not-signed-in'))
    },
    close() {
      over = true
      closed ??= new Promise((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      return closed
    },
  }
}

/** Every open connection, those that have sent nothing and those that are being refused among them. */
function holdSockets(server: Server): Set<Socket> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // What breaks is the other side's affair.
    socket.on('error', () => {})
  })
  // Not HTTP, too long or too slow. Ended rather than half open: the other side may never end it.
  server.on('clientError', (_, socket) => {
    if (socket.writable) socket.write('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
    ;(socket as Socket).destroySoon()
  })
  return sockets
}

/** One Host, or none: a request with several is refused (RFC 9112 section 3.2). */
function hostOf(request: IncomingMessage): string | undefined {
  const [host, ...more] = request.headersDistinct['host'] ?? []
  return more.length === 0 ? host : undefined
}

function pageFor({ status }: Ignored): Page {
  return status === 400 ? renderPage('not-expected') : renderNothing(status)
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

/** The first of the ports that can be had. */
async function listen(server: Server, { host, ports }: LoopbackOptions): Promise<AddressInfo> {
  const tried: string[] = []
  for (const port of ports) {
    try {
      return await bind(server, host, port)
    } catch (cause) {
      tried.push(describeRefusal(cause, host, port))
    }
  }
  throw new Failure('refused', `cannot listen on ${host} for the browser: ${tried.join(', ')}`, {
    advice: [{ code: 'other_redirect_port' }],
  })
}

async function bind(server: Server, host: string, port: number): Promise<AddressInfo> {
  server.listen({ host, port, backlog })
  await once(server, 'listening')
  // From here on it is a connection that could not be accepted, and others can.
  server.on('error', () => {})
  return server.address() as AddressInfo
}

/** @throws Failure `refused` where the address is missing, so that no port of it can be had */
function describeRefusal(cause: unknown, host: string, port: number): string {
  switch ((cause as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `port ${port} is in use`
    case 'EACCES':
      return `port ${port} may not be used by this user`
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL': {
      const other = host === '::1' ? '127.0.0.1' : '::1'
      throw new Failure('refused', `this machine has no address ${host}`, {
        advice: [{ code: 'other_redirect_host', host: other }],
        cause,
      })
    }
    default:
      return `port ${port}: ${describeSystemError(cause)}`
  }
}
