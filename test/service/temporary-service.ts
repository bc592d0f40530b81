import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedService } from '../../src/service/open-embedded-service.ts'
import { type RunningService, type ServiceOptions, startService } from '../../src/service/start-service.ts'
import type { DataLocation } from '../../src/service/store/open-store.ts'
import { databaseFile, openSqlite } from '../../src/service/store/sqlite/open-sqlite.ts'
import { closing } from '../support/lifetime.ts'
import { type Completion, withModelServer } from '../support/model-server.ts'
import { sharedPostgres } from '../support/postgres.ts'
import type { ScriptedServer } from '../support/scripted-server.ts'
import { sendInProcess, serveInProcess } from './in-process-fetch.ts'

/** A response with its body, which is parsed if it is JSON. */
export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any
  text: string
}

export interface TemporaryService extends RunningService {
  key: string
  /** Where the data is stored, for tests that examine it beside the service. */
  place: DataLocation
  /** Sends a request with the key. `body` is sent as JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** The same without reading the response body. */
  open(
    method: string,
    path: string,
    body: unknown,
    signal?: AbortSignal,
    headers?: Record<string, string>,
  ): Promise<Response>
}

/** An empty directory that is deleted after `use`. */
export async function withDirectory<T>(use: (directory: string) => Promise<T> | T): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'chatctl-service-'))
  try {
    return await use(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

export type Engine = 'sqlite' | 'postgres'

/** An empty place for data in an engine, deleted after `use`. */
export function withPlace<T>(engine: Engine, use: (place: DataLocation) => Promise<T> | T): Promise<T> {
  return withDirectory(async (dataDir) => {
    if (engine === 'sqlite') return use({ dataDir })
    const postgres = await sharedPostgres()
    const database = await postgres.createDatabase()
    try {
      return await use({ dataDir, database })
    } finally {
      await postgres.dropDatabase(database)
    }
  })
}

export type WithService = <T>(
  use: (service: TemporaryService) => Promise<T> | T,
  options?: Partial<ServiceOptions>,
) => Promise<T>

let emptyDatabase: Promise<Buffer> | undefined

/** The same with the newest schema, which takes longer to create than to copy. */
const withCreatedPlace: typeof withPlace = (engine, use) =>
  withPlace(engine, async (place) => {
    emptyDatabase ??= withDirectory(async (directory) => {
      await openSqlite(directory).close()
      return readFileSync(databaseFile(directory))
    })
    if (engine === 'sqlite') writeFileSync(databaseFile(place.dataDir), await emptyDatabase, { mode: 0o600 })
    return use(place)
  })

const withServiceOn =
  (engine: Engine): WithService =>
  (use, options = {}) =>
    withCreatedPlace(engine, async (place) => {
      await using service = closing(equip(await startService({ ...place, ...options }), place))
      return await use(service)
    })

/** The same without a server. `url` leads to the service in this process. */
const withServiceInProcess =
  (engine: Engine): WithService =>
  (use, options = {}) =>
    withCreatedPlace(engine, async (place) => {
      const opened = await openEmbeddedService({ ...place, ...options })
      const { url, close } = serveInProcess(opened)
      await using service = closing(
        equip(
          {
            ...opened,
            url,
            publicUrl: undefined,
            adminUrl: undefined,
            createProcessKey: () => opened.key,
            reload: () => {},
            close,
          },
          place,
        ),
      )
      return await use(service)
    })

/** With a service that has a model server. The requests are those that the model server has received. */
export const modelOn =
  (withService: WithService) =>
  <T>(
    complete: Completion,
    use: (service: TemporaryService & Pick<ScriptedServer, 'requests' | 'requestsOf'>) => Promise<T> | T,
    options: Partial<ServiceOptions> = {},
  ): Promise<T> =>
    withModelServer(complete, ({ url, requests, requestsOf }) =>
      withService((service) => use({ ...service, requests, requestsOf }), {
        ...options,
        modelServer: { url },
      }),
    )

/** A service on an empty directory, closed and deleted after `use`. */
export const withService = withServiceOn('sqlite')

/** The same with a model server. */
export const withModel = modelOn(withService)

const testedEngine = (): Engine => (process.env['CHATCTL_TEST_ENGINE'] === 'postgres' ? 'postgres' : 'sqlite')

/**
 * Defines a suite whose parameter starts services on one of the engines: SQLite, or PostgreSQL with
 * CHATCTL_TEST_ENGINE=postgres, which `npm run test:system` sets.
 */
export function onEachEngine(
  title: string,
  define: (withService: WithService, engine: Engine) => void,
): void {
  const engine = testedEngine()
  describe(`${title}, on ${engine}`, () => define(withServiceOn(engine), engine))
}

/**
 * The same for suites that need no connection: with services in this process on SQLite, and with services that listen
 * on PostgreSQL. test/service/transports.test.ts compares the two.
 */
export function onEachTransport(
  title: string,
  define: (withService: WithService, engine: Engine) => void,
): void {
  const engine = testedEngine()
  const start = engine === 'sqlite' ? withServiceInProcess(engine) : withServiceOn(engine)
  describe(`${title}, on ${engine}`, () => define(start, engine))
}

/** A running service with a separate key and functions to call it. */
export function equip(
  service: RunningService,
  place: DataLocation = { dataDir: service.dataDir },
): TemporaryService {
  const key = service.createProcessKey()
  return { ...service, key, place, call: caller(service.url, key), open: opener(service.url, key) }
}

/** Sends requests with a key, or without one. */
export function caller(url: string, key: string | undefined): TemporaryService['call'] {
  return async (method, path, body, headers = {}) => {
    const response = await send(url, path, {
      method,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text ? JSON.parse(text) : undefined,
    }
  }
}

/** The same without reading the response body. */
export function opener(url: string, key: string): TemporaryService['open'] {
  return (method, path, body, signal, headers) =>
    send(url, path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    })
}

const send = (url: string, path: string, init: RequestInit): Promise<Response> =>
  sendInProcess(url, path, init) ?? fetch(url + path, init)
