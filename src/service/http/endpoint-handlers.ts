import type { EndpointName, QueryOf, RequestOf, ResponseOf } from '../../contract/endpoints.ts'
import { settingsSerialHeader } from '../../contract/headers.ts'
import { assignPermissions } from '../domain/access/assign-permissions.ts'
import type { Principal } from '../domain/access/permissions.ts'
import type { AuditContext } from '../domain/audit.ts'
import { complete, findModel, listModels, sendMessage } from '../domain/chat/chat.ts'
import { streamCompletion, streamMessage } from '../domain/chat/chat-stream.ts'
import { listHistory } from '../domain/chat/history.ts'
import { prepareRelay, relay } from '../domain/chat/relay.ts'
import { readPreferences, updateOwnSettings } from '../domain/preferences.ts'
import { readSettings, setApiConfiguration, updateSettings } from '../domain/settings.ts'
import type { SettingsCache } from '../domain/settings-cache.ts'
import { createUser, readProfile, readUser, updateUser } from '../domain/users.ts'
import type { ServedEndpointName } from '../openai-endpoints.ts'
import type { ReplySource } from '../replies/reply-source.ts'
import type { Database } from '../store/tables.ts'
import { EventStream, openAiEventStream } from './response/event-stream.ts'
import { JsonText, type ResponseHeaders } from './service-request.ts'

/** One authenticated, validated request. */
export interface EndpointRequest<N extends ServedEndpointName> {
  db: Database
  replySource: ReplySource
  settingsCache: SettingsCache
  openAiFields: readonly string[] | undefined
  principal: Principal
  /** Who makes the change, for the audit log. */
  by: AuditContext
  /** Contains the fields that `fieldConstraints` requires. */
  body: N extends EndpointName ? WithRequiredFields<RequestOf<N>> : unknown
  query: N extends EndpointName ? QueryOf<N> : object
  /** Of the response. */
  headers: ResponseHeaders
  /** `{id}` of the path; empty if the path has none. */
  id: string
  /** Whether the client accepts a stream of events. */
  acceptsEvents: boolean
  /** Returns the signal that is aborted when the client disconnects or the service stops. Call it once. */
  openSignal: () => AbortSignal
}

/** The fields that `fieldConstraints` requires, by name. */
type WithRequiredFields<Body> = Body & {
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

type Result<N extends ServedEndpointName> = N extends EndpointName
  ? ResponseOf<N> | Created<ResponseOf<N>>
  : object

/** One handler for each endpoint: the code does not compile if one is missing. */
type Handlers = {
  readonly [N in ServedEndpointName]: (
    endpointRequest: EndpointRequest<N>,
  ) => Promise<Result<N> | EventStream>
}

export const handlers: Handlers = {
  createCompletion: async ({ replySource, settingsCache, by, body, acceptsEvents, openSignal }) => {
    const { settings } = await settingsCache.read()
    const signal = openSignal()
    // The request has no field for it, so the format is negotiated (RFC 9110 section 12.5.1).
    return acceptsEvents
      ? new EventStream(streamCompletion(replySource, settings, body, { signal, clock: by.clock }))
      : complete(replySource, settings, body, signal)
  },
  listModels: ({ replySource, openSignal }) => listModels(replySource, openSignal()),
  sendMessage: async ({ db, replySource, settingsCache, principal, by, body, openSignal }) => {
    const { settings } = await settingsCache.read()
    const { userId } = principal
    const context = { db, replySource, settings, userId, signal: openSignal(), clock: by.clock }
    return body.stream ? new EventStream(streamMessage(body, context)) : sendMessage(body, context)
  },
  listHistory: ({ db, principal, query }) => listHistory(db, principal.userId, query),
  getProfile: ({ db, principal }) => readProfile(db, principal.userId),
  updateUserSettings: ({ db, principal, body }) => updateOwnSettings(db, principal.userId, body),
  getSettings: async ({ db, headers }) => {
    const { settings, serial } = await readSettings(db)
    headers[settingsSerialHeader] = serial
    return settings
  },
  updateSettings: ({ db, by, body }) => updateSettings(db, body, by),
  getPreferences: async ({ db, principal }) => ({ ...(await readPreferences(db, principal.userId)) }),
  setApiConfiguration: ({ db, by, body }) => setApiConfiguration(db, body, by),
  createUser: async ({ db, by, body }) => {
    const user = await createUser(db, body, by)
    return new Created(`/v1/users/${user.id}`, user)
  },
  getUser: ({ db, id }) => readUser(db, id),
  updateUser: ({ db, by, id, body }) => updateUser(db, id, body, by),
  assignPermissions: ({ db, principal, by, id, body }) => assignPermissions(db, principal, id, body, by),
  openAiCompletion: async ({ replySource, settingsCache, openAiFields, by, body, openSignal }) => {
    const { settings } = await settingsCache.read()
    const signal = openSignal()
    const request = await prepareRelay(replySource, settings, body, signal, openAiFields)
    const parts = relay(replySource, request, { signal, clock: by.clock })
    if (request.body['stream'] === true) return openAiEventStream(parts)
    let json = ''
    for await (const { data } of parts) json += data
    return new JsonText(json)
  },
  openAiModels: async ({ replySource, openSignal }) => ({
    object: 'list',
    data: await replySource.listModels(openSignal()),
  }),
  openAiModel: ({ replySource, id, openSignal }) => findModel(replySource, id, openSignal()),
}
