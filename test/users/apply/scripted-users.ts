import { setImmediate as turn } from 'node:timers/promises'
import type { ApiResponse } from '../../../src/client/response/response.ts'
import type { Users } from '../../../src/client/users.ts'
import { Failure } from '../../../src/contract/failure.ts'
import type { User } from '../../../src/contract/resources/user.ts'

/** What happens to a request instead of a normal response. `lost` and `500` of a change are drawn before or after it. */
type Fault = 'lost' | '429' | '500' | '422' | 'nameless'

export interface StoredUser {
  id: string
  email: string
  password?: string | undefined
  name?: string | undefined
  metadata: Record<string, unknown>
  settings: Record<string, unknown>
  role?: string | undefined
  permissions?: readonly string[] | undefined
}

type Calls = Pick<Users, 'get' | 'create' | 'update' | 'assignPermissions'>

/** The users of a service in memory. It creates a second user with the same email, unless a test has added the first. */
export class ScriptedUsers implements Calls {
  readonly users = new Map<string, StoredUser>()
  /** Each request that arrived, as `METHOD email`. */
  readonly requests: string[] = []
  /** The ids of the users that a test has added, by email. */
  readonly added = new Map<string, string>()
  readonly #random: () => number
  /** The faults that may happen; drawn for a third of the requests. */
  faults: readonly Fault[] = []
  /** The ID of every created user. */
  nextId: string | undefined
  /** The response to a create, beside the ID. */
  created: object | undefined
  /** The response to an update. */
  updated: object | undefined
  /** The response to an assignment. */
  assigned: object | undefined
  /** Called before the change of a request. */
  onRequest: ((request: string) => void) | undefined
  #inFlight = 0

  constructor(random: () => number) {
    this.#random = random
  }

  /** Adds a user without a request. */
  add(user: Partial<StoredUser> & { email: string }): StoredUser {
    const id = `usr_${this.users.size + 1}`
    const added = { metadata: {}, settings: {}, ...user, id }
    this.users.set(id, added)
    this.added.set(user.email, id)
    return added
  }

  /** Waits for the requests of a killed process. */
  async settled(): Promise<void> {
    while (this.#inFlight > 0) await turn()
  }

  withEmail(email: string): StoredUser[] {
    return [...this.users.values()].filter((user) => user.email === email)
  }

  /** What reading a user returns instead. */
  shown: ((user: StoredUser) => object) | undefined

  get(id: string): Promise<ApiResponse<User>> {
    return this.#meet('GET', id, () => {
      if (this.shown) return structuredClone(this.shown(this.#find(id))) as User
      const { password: _, role: _role, permissions: _permissions, ...shown } = this.#find(id)
      return structuredClone(shown) as User
    })
  }

  create: Calls['create'] = ({ email = '', password, name, metadata = {} }) =>
    this.#meet('CREATE', email, () => {
      const taken = this.added.get(email)
      if (taken !== undefined) throw refusal(409, 'conflict', 'The email is taken', { id: taken })
      const id = this.nextId ?? `usr_${this.users.size + 1}`
      this.users.set(id, { id, email, password, name, metadata, settings: {} })
      return { id, ...this.created }
    })

  update: Calls['update'] = (id, { name, metadata, settings }) =>
    this.#meet('PATCH', id, () => {
      const user = this.#find(id)
      if (name !== undefined) user.name = name
      // Replaces both, which the interface allows.
      if (metadata) user.metadata = structuredClone(metadata)
      if (settings) user.settings = { ...settings }
      return this.updated
    })

  assignPermissions: Calls['assignPermissions'] = (id, { role, permissions }) =>
    this.#meet('ASSIGN', id, () => {
      const user = this.#find(id)
      user.role = role
      user.permissions = permissions
      return this.assigned
    })

  #find(id: string): StoredUser {
    const user = this.users.get(id)
    if (!user) throw refusal(404, 'not_found', 'There is no such user')
    return user
  }

  async #meet<T>(method: string, about: string, act: () => T): Promise<ApiResponse<T>> {
    const request = `${method} ${this.users.get(about)?.email ?? about}`
    this.requests.push(request)
    this.onRequest?.(request)
    const fault =
      this.#random() < 1 / 3 ? this.faults[Math.floor(this.#random() * this.faults.length)] : undefined
    this.#inFlight++
    try {
      for (let turns = Math.floor(this.#random() * 4); turns > 0; turns--) await turn()
      if (fault === '429') throw refusal(429, 'rate_limited', 'Slow down')
      if (fault === '422' && method !== 'GET') throw refusal(422, 'rejected', 'No')
      if (fault === 'lost' || fault === '500') {
        if (this.#random() < 0.5) act()
        throw broken(fault, method !== 'GET')
      }
      const body = act()
      for (let turns = Math.floor(this.#random() * 4); turns > 0; turns--) await turn()
      const isNameless = fault === 'nameless' && method === 'CREATE'
      return { body: isNameless ? undefined : body, status: 200, headers: {}, faults: [] }
    } finally {
      this.#inFlight--
    }
  }
}

function refusal(status: number, kind: Failure['kind'], words: string, details?: object): Failure {
  return new Failure(kind, words, { status, details })
}

function broken(fault: 'lost' | '500', isOutcomeUnknown: boolean): Failure {
  return fault === 'lost'
    ? new Failure('truncated', 'The connection was closed', { isOutcomeUnknown })
    : new Failure('server_error', 'It broke', { status: 500, isOutcomeUnknown })
}
