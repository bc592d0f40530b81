import type {
  AssignPermissionsRequest,
  CreateUserRequest,
  UpdateUserRequest,
} from '../../src/contract/user.ts'
import {
  type Behaviour,
  delayed,
  type FaultServer,
  failing,
  json,
  type RecordedRequest,
  reset,
  startFaultServer,
} from './fault-server.ts'
import { drawFor, hashOf } from './random.ts'
import { RequestQuota, type RequestQuotaOptions } from './request-quota.ts'

/** What may happen to a request that changes something, beside a plain answer. */
export type Fate =
  /** Done, and the connection reset in place of an answer. */
  | 'lost'
  /** The connection reset before anything was done. */
  | 'refused'
  /** 500, though it was done. */
  | 'failed after'
  /** 500, and nothing done. */
  | 'failed before'
  /** Done at once, answered late. */
  | 'slow'

export interface UsersServerOptions {
  seed?: number
  /** Milliseconds from a request to its answer. */
  delay?: number
  /** The share of the changing requests that each meets, in 0–1. */
  fates?: Partial<Record<Fate, number>>
  /** Milliseconds that a slow answer takes. */
  slowness?: number
  /** Where the answer to a create has the id: one of these by chance. */
  idIn?: readonly ('body' | 'location' | 'nowhere')[]
  /** Makes a second user of an email in place of 409. */
  allowsDuplicates?: boolean
  /** Emails that are answered with 422. */
  rejects?: (email: string) => boolean
  quota?: RequestQuotaOptions
}

export interface StoredUser extends CreateUserRequest, UpdateUserRequest {
  id: string
}

/** The creates of one email. */
export interface Creates {
  /** Status of the answer to each, or what it met in its place; those answered with 429 do not count. */
  met: (number | Fate)[]
  /** Ids of the users that were made. */
  ids: string[]
}

/** All that a service was told, and what it made of it. */
export interface UsersReport {
  /** By email as it was sent. */
  creates: ReadonlyMap<string, Creates>
  /** By id, those that the test added included. */
  users: ReadonlyMap<string, StoredUser>
  /** Those that were done, by the user's id, oldest first. */
  assignments: ReadonlyMap<string, readonly AssignPermissionsRequest[]>
  /** Those that were done, by the user's id, oldest first. */
  updates: ReadonlyMap<string, readonly UpdateUserRequest[]>
  /** Ids of the users with an update or an assignment that got no answer, or 500. */
  doubts: ReadonlySet<string>
  /** Requests answered with 429. */
  limited: number
}

/** What a request would do, and how that would be answered. */
interface Deed {
  /** Whose luck it shares: the same words meet the same fate in every run. */
  words: string
  /** The creates that it is one of, or else the user that it changes. */
  of?: Creates | string
  do(): { status: number; behaviour: Behaviour }
}

const fates: readonly Fate[] = ['lost', 'refused', 'failed after', 'failed before', 'slow']
const owner = {
  id: 'usr_owner',
  email: 'owner@example.com',
  name: 'Owner',
  created_at: '2026-01-02T03:04:05Z',
}

/**
 * A service of users on loopback that keeps count of what reaches it, and treats requests badly by
 * a seed. It lives in the process of the test: chatctl may die, and the network too (`close`, then
 * `open`, which keeps the address).
 */
export class UsersServer {
  readonly #options: UsersServerOptions
  #quota: RequestQuota | undefined
  readonly #creates = new Map<string, Creates>()
  readonly #users = new Map<string, StoredUser>()
  readonly #emails = new Set<string>()
  readonly #assignments = new Map<string, AssignPermissionsRequest[]>()
  readonly #updates = new Map<string, UpdateUserRequest[]>()
  readonly #doubts = new Set<string>()
  readonly #times = new Map<string, number>()
  #server: FaultServer | undefined
  #url = ''

  /** Told of each request, as soon as it has come and before it is done. */
  onRequest: ((request: RecordedRequest) => void) | undefined

  private constructor(options: UsersServerOptions) {
    this.#options = options
    this.#quota = options.quota && new RequestQuota(options.quota)
  }

  /** Admits every request from now on. */
  liftQuota(): void {
    this.#quota = undefined
  }

  /** @param port of a server that was closed, whose place it takes; else a free one */
  static async start(options: UsersServerOptions = {}, port?: number): Promise<UsersServer> {
    const server = new UsersServer(options)
    if (port !== undefined) server.#url = `http://127.0.0.1:${port}`
    await server.open()
    return server
  }

  get url(): string {
    return this.#url
  }

  /** Listens, where it listened before. */
  async open(): Promise<void> {
    const port = this.#url === '' ? 0 : Number(new URL(this.#url).port)
    this.#server = await startFaultServer({ choose: (request) => this.#choose(request) }, port)
    this.#url = this.#server.url
  }

  /** Cuts all connections and stops listening. What it holds stays. */
  async close(): Promise<void> {
    await this.#server?.close()
    this.#server = undefined
  }

  /** Has a user that nobody asked for. */
  add(user: CreateUserRequest): string {
    const email = user.email ?? ''
    const first = `usr_${hashOf(email).toString(16)}`
    const id = this.#users.has(first) ? `${first}_${this.#users.size}` : first
    this.#users.set(id, { ...user, id })
    this.#emails.add(email.toLowerCase())
    return id
  }

  report(): UsersReport {
    return {
      creates: this.#creates,
      users: this.#users,
      assignments: this.#assignments,
      updates: this.#updates,
      doubts: this.#doubts,
      limited: this.#quota?.refused ?? 0,
    }
  }

  #choose(request: RecordedRequest): Behaviour {
    this.onRequest?.(request)
    const { delay = 0, slowness = 300 } = this.#options
    const taken = this.#quota?.take()
    const deed = this.#read(request, taken?.headers ?? {})
    if (taken && !taken.allowed) return taken.behaviour
    const fate = request.method === 'GET' ? undefined : this.#fateOf(deed)
    const met = (what: number | Fate): void => {
      if (typeof deed.of === 'object') deed.of.met.push(what)
      else if (typeof what === 'string' && deed.of !== undefined) this.#doubts.add(deed.of)
    }
    const broken = (): Behaviour => failing(500, 'internal', 'Something broke')
    if (fate && fate !== 'slow') met(fate)
    if (fate === 'refused') return reset
    if (fate === 'failed before') return broken()
    const { status, behaviour } = deed.do()
    if (fate === 'lost') return delayed(delay, reset)
    if (fate === 'failed after') return delayed(delay, broken())
    met(status)
    return delayed(fate === 'slow' ? slowness : delay, behaviour)
  }

  #fateOf({ words }: Deed): Fate | undefined {
    const times = (this.#times.get(words) ?? 0) + 1
    this.#times.set(words, times)
    let draw = drawFor(`${words} ${times}`, this.#options.seed ?? 0)
    return fates.find((fate) => {
      draw -= this.#options.fates?.[fate] ?? 0
      return draw < 0
    })
  }

  #read({ method, path, body }: RecordedRequest, headers: Record<string, string>): Deed {
    const [, id = '', below] = /^\/v1\/users\/([^/]+)(\/permissions)?$/.exec(path) ?? []
    const words = `${method} ${path}`
    const answered = (status: number, answer: unknown, more = {}) => ({
      status,
      behaviour: json(status, answer, { ...headers, ...more }),
    })
    const refused = (status: number, code: string, message: string) =>
      answered(status, { error: { code, message } })
    if (words === 'POST /v1/users') return this.#create(JSON.parse(body), answered, refused)
    if (words === 'GET /api/user/profile') return { words, do: () => answered(200, owner) }
    const user = this.#users.get(decodeURIComponent(id))
    if (!user) return { words, do: () => refused(404, 'not_found', 'There is no such user') }
    const show = () => ({ ...user, password: undefined })
    if (method === 'GET' && !below) return { words, do: () => answered(200, show()) }
    if (method === 'PATCH' && !below) {
      const change = () => {
        this.#update(user, JSON.parse(body))
        return answered(200, show())
      }
      return { words, of: user.id, do: change }
    }
    if (method === 'POST' && below) {
      const assigned: AssignPermissionsRequest = JSON.parse(body)
      return { words, of: user.id, do: () => answered(200, append(this.#assignments, user.id, assigned)) }
    }
    return { words, do: () => refused(405, 'method_not_allowed', 'No') }
  }

  #create(
    sent: CreateUserRequest,
    answered: (status: number, answer: unknown, headers?: object) => ReturnType<Deed['do']>,
    refused: (status: number, code: string, message: string) => ReturnType<Deed['do']>,
  ): Deed {
    const email = sent.email ?? ''
    const of = this.#creates.get(email) ?? { met: [], ids: [] }
    this.#creates.set(email, of)
    const words = `POST /v1/users ${email}`
    const make = () => {
      const { idIn = ['body'], rejects, allowsDuplicates = false, seed = 0 } = this.#options
      if (rejects?.(email)) return refused(422, 'invalid_email', `No mail reaches ${email}`)
      if (this.#emails.has(email.toLowerCase()) && !allowsDuplicates) {
        return refused(409, 'email_taken', `There is a user with the email ${email}`)
      }
      const id = this.add(sent)
      of.ids.push(id)
      const place = idIn[Math.floor(drawFor(`place ${email}`, seed) * idIn.length)]
      if (place === 'location') return answered(201, {}, { location: `/v1/users/${id}` })
      return answered(201, place === 'body' ? { id, email } : {})
    }
    return { words, of, do: make }
  }

  #update(user: StoredUser, sent: UpdateUserRequest): void {
    append(this.#updates, user.id, sent)
    const { metadata, settings, ...rest } = sent
    Object.assign(user, rest)
    if (metadata) user.metadata = { ...user.metadata, ...metadata }
    if (settings) user.settings = { ...user.settings, ...settings }
  }
}

function append<T>(lists: Map<string, T[]>, key: string, value: T): T {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
  return value
}
