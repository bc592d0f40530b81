import type { EndpointName, QueryOf, RequestOf, ResponseOf } from '../../contract/endpoints.ts'
import { assignPermissions } from '../domain/access/assign-permissions.ts'
import type { Caller } from '../domain/access/callers.ts'
import type { Origin } from '../domain/audit.ts'
import { complete, listModels, sendMessage } from '../domain/chat/chat.ts'
import { streamMessage } from '../domain/chat/chat-stream.ts'
import { listHistory } from '../domain/chat/history.ts'
import type { LiveSettings } from '../domain/live-settings.ts'
import { readPreferences, updateOwnSettings } from '../domain/preferences.ts'
import { readSettings, setApiConfiguration, updateSettings } from '../domain/settings.ts'
import { createUser, readProfile, readUser, updateUser } from '../domain/users.ts'
import type { Hold } from '../limits/memory-budget.ts'
import type { Database } from '../store/tables.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { EventStream } from './answer/event-stream.ts'

/** One authenticated, validated request. */
export interface Call<N extends EndpointName> {
  db: Database
  upstream: Upstream
  live: LiveSettings
  caller: Caller
  /** What the audit log says of who it was. */
  by: Origin
  /** Fields that `bounds` requires are there. */
  body: Demanded<RequestOf<N>>
  query: QueryOf<N>
  /** `{id}` of the path; empty where the path has none. */
  id: string
  /** Aborted when the client goes away or the service stops. */
  signal: AbortSignal
  hold: Hold
}

/** The fields that `bounds` marks as required, by name. */
type Demanded<Body> = Body & {
  [K in keyof Body & ('messages' | 'message' | 'email' | 'password')]-?: NonNullable<Body[K]>
}

/** 201 with a Location (RFC 9110 section 15.3.2). */
export class Created<Body> {
  readonly location: string
  readonly body: Body
  constructor(location: string, body: Body) {
    this.location = location
    this.body = body
  }
}

/** One handler for every row of the contract's table: a missing one does not compile. */
type Handlers = {
  readonly [N in EndpointName]: (
    call: Call<N>,
  ) => Promise<ResponseOf<N> | Created<ResponseOf<N>> | EventStream>
}

export const handlers: Handlers = {
  createCompletion: async ({ upstream, live, body, signal }) =>
    complete(upstream, (await live.read()).settings, body, signal),
  listModels: ({ upstream, signal }) => listModels(upstream, signal),
  sendMessage: async ({ db, upstream, live, caller, by, body, signal, hold }) => {
    const { settings } = await live.read()
    const running = { signal, hold, clock: by.clock }
    return body.stream
      ? new EventStream(streamMessage(db, upstream, settings, caller.userId, body, running))
      : sendMessage(db, upstream, settings, caller.userId, body, running)
  },
  listHistory: ({ db, caller, query, hold }) => listHistory(db, caller.userId, query, hold),
  getProfile: ({ db, caller }) => readProfile(db, caller.userId),
  updateUserSettings: ({ db, caller, body }) => updateOwnSettings(db, caller.userId, body),
  getSettings: ({ db }) => readSettings(db),
  updateSettings: ({ db, by, body }) => updateSettings(db, body, by),
  getPreferences: async ({ db, caller }) => ({ ...(await readPreferences(db, caller.userId)) }),
  setApiConfiguration: ({ db, by, body }) => setApiConfiguration(db, body, by),
  createUser: async ({ db, by, body }) => {
    const user = await createUser(db, body, by)
    return new Created(`/v1/users/${user.id}`, user)
  },
  getUser: ({ db, id }) => readUser(db, id),
  updateUser: ({ db, by, id, body }) => updateUser(db, id, body, by),
  assignPermissions: ({ db, caller, by, id, body }) => assignPermissions(db, caller, id, body, by),
}
