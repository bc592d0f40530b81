import type {
  AssignPermissionsRequest,
  CreateUserRequest,
  UpdateUserRequest,
} from '../../../src/contract/resources/user.ts'
import { drawFor, hashOf } from '../random.ts'
import {
  type Behavior,
  delayed,
  failing,
  type Handler,
  json,
  limited,
  type RecordedRequest,
  reset,
} from '../scripted-server.ts'

/** What can happen to a request that makes a change, instead of a normal response. */
export type Fate =
  /** The change is made, and the connection is reset. */
  | 'lost'
  /** The connection is reset before the change. */
  | 'refused'
  /** 500 after the change. */
  | 'failed after'
  /** 500 without the change. */
  | 'failed before'
  /** The change is made immediately, and the response is late. */
  | 'slow'

export interface UsersOptions {
  seed?: number
  /** Milliseconds from a request to its response. */
  delay?: number
  /** The share of changing requests with each fate, from 0 to 1. */
  fates?: Partial<Record<Fate, number>>
  /** Milliseconds that a slow response takes. */
  slowness?: number
  /** The places of the ID in the response to a create, of which one is chosen at random. */
  idIn?: readonly ('body' | 'location' | 'nowhere')[]
  /** Creates a second user with the same email instead of 409. */
  allowsDuplicates?: boolean
  /** Selects the emails that get 422. */
  rejects?: (email: string) => boolean
  quota?: RequestQuotaOptions
}

export interface StoredUser extends CreateUserRequest, UpdateUserRequest {
  id: string
}

/** The creates of one email. */
export interface Creates {
  /** The status of each response, or its fate. Responses with 429 are not included. */
  met: (number | Fate)[]
  /** IDs of the created users. */
  ids: string[]
}

/** All requests that a service received, and their effects. */
export interface UsersReport {
  /** By email, as it was sent. */
  creates: ReadonlyMap<string, Creates>
  /** By ID, including users that the test added. */
  users: ReadonlyMap<string, StoredUser>
  /** The completed requests by user ID, oldest first. */
  assignments: ReadonlyMap<string, readonly AssignPermissionsRequest[]>
  /** The completed requests by user ID, oldest first. */
  updates: ReadonlyMap<string, readonly UpdateUserRequest[]>
  /** IDs of users with an update or an assignment that got no response, or 500. */
  unknowns: ReadonlySet<string>
  /** The number of requests that got 429. */
  limited: number
}

/** The change of a request, and its response. */
interface Deed {
  /** Determines the fate: the same words have the same fate in every run. */
  words: string
  /** The creates to which it belongs, or the ID of the user that it changes. */
  of?: Creates | string
  do(): { status: number; behavior: Behavior }
}

const fates: readonly Fate[] = ['lost', 'refused', 'failed after', 'failed before', 'slow']
const owner = {
  id: 'usr_owner',
  email: 'owner@example.com',
  name: 'Owner',
  created_at: '2026-01-02T03:04:05Z',
}

/** Keeps users, and lets requests fail according to a seed. */
export class UsersHandler implements Handler {
  #options: UsersOptions
  #quota: RequestQuota | undefined
  readonly #creates = new Map<string, Creates>()
  readonly #users = new Map<string, StoredUser>()
  readonly #emails = new Set<string>()
  /** Also those of removed users. */
  readonly #ids = new Set<string>()
  readonly #assignments = new Map<string, AssignPermissionsRequest[]>()
  readonly #updates = new Map<string, UpdateUserRequest[]>()
  readonly #unknowns = new Set<string>()
  readonly #times = new Map<string, number>()

  /** Called for each request when it arrives, before the change. */
  onRequest: ((request: RecordedRequest) => void) | undefined

  constructor(options: UsersOptions = {}) {
    this.#options = options
    this.#quota = options.quota && new RequestQuota(options.quota)
  }

  /** Of the requests from now on. */
  set fates(fates: Partial<Record<Fate, number>>) {
    this.#options = { ...this.#options, fates }
  }

  endFates(): void {
    this.fates = {}
  }

  liftQuota(): void {
    this.#quota = undefined
  }

  /** Adds a user without a request. */
  add(user: CreateUserRequest): string {
    const email = user.email ?? ''
    const first = `usr_${hashOf(email).toString(16)}`
    const id = this.#ids.has(first) ? `${first}_${this.#ids.size}` : first
    this.#ids.add(id)
    this.#users.set(id, { ...user, id })
    this.#emails.add(email.toLowerCase())
    return id
  }

  remove(id: string): void {
    this.#emails.delete(this.#users.get(id)?.email?.toLowerCase() ?? '')
    this.#users.delete(id)
  }

  report(): UsersReport {
    return {
      creates: this.#creates,
      users: this.#users,
      assignments: this.#assignments,
      updates: this.#updates,
      unknowns: this.#unknowns,
      limited: this.#quota?.refused ?? 0,
    }
  }

  choose(request: RecordedRequest): Behavior {
    this.onRequest?.(request)
    const { delay = 0, slowness = 300 } = this.#options
    const taken = this.#quota?.take()
    const deed = this.#read(request, taken?.headers ?? {})
    if (taken && !taken.allowed) return taken.behavior
    const fate = request.method === 'GET' ? undefined : this.#fateOf(deed)
    const met = (what: number | Fate): void => {
      if (typeof deed.of === 'object') deed.of.met.push(what)
      else if (typeof what === 'string' && deed.of !== undefined) this.#unknowns.add(deed.of)
    }
    const broken = (): Behavior => failing(500, 'internal', 'Something broke')
    if (fate && fate !== 'slow') met(fate)
    if (fate === 'refused') return reset
    if (fate === 'failed before') return broken()
    const { status, behavior } = deed.do()
    if (fate === 'lost') return delayed(delay, reset)
    if (fate === 'failed after') return delayed(delay, broken())
    met(status)
    return delayed(fate === 'slow' ? slowness : delay, behavior)
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
      behavior: json(status, answer, { ...headers, ...more }),
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

interface RequestQuotaOptions {
  requests: number
  /** Length in milliseconds. A window begins with the first request after the previous window. */
  window: number
  /** The headers that describe the quota. `Retry-After` is only in refusals. */
  headers: 'RateLimit' | 'X-RateLimit' | 'Retry-After' | 'none'
}

interface Taken {
  allowed: boolean
  headers: Record<string, string>
  /** The refusal, if the request is not allowed. */
  behavior: Behavior
}

/** A number of requests per window, as in docs/interface.md, "Limits". Refused requests do not count. */
class RequestQuota {
  readonly #options: RequestQuotaOptions
  #windowEnds = 0
  #left = 0

  refused = 0

  constructor(options: RequestQuotaOptions) {
    this.#options = options
  }

  take(): Taken {
    const now = Date.now()
    if (now >= this.#windowEnds) {
      this.#windowEnds = now + this.#options.window
      this.#left = this.#options.requests
    }
    const allowed = this.#left > 0
    if (allowed) this.#left--
    else this.refused++
    const headers = this.#headers(now, allowed)
    return { allowed, headers, behavior: limited(headers) }
  }

  #headers(now: number, allowed: boolean): Record<string, string> {
    const { requests, headers } = this.#options
    const seconds = String(Math.ceil((this.#windowEnds - now) / 1000))
    if (headers === 'Retry-After' && !allowed) return { 'retry-after': seconds }
    if (headers === 'Retry-After' || headers === 'none') return {}
    const prefix = headers.toLowerCase()
    return {
      [`${prefix}-limit`]: String(requests),
      [`${prefix}-remaining`]: String(this.#left),
      [`${prefix}-reset`]: seconds,
    }
  }
}
