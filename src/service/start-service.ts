import { resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { type Clock, systemClock } from '../system/clock.ts'
import { ApiError } from './api-error.ts'
import { generateKey, hashKey } from './domain/access/keys.ts'
import { type AdminServer, startAdminServer } from './http/admin-server.ts'
import type { LogOptions } from './http/create-logger.ts'
import { createServer } from './http/create-server.ts'
import { type ExposureOptions, issuerOf, readExposure, signInIsOff } from './http/listening/exposure.ts'
import { listenFailure } from './http/listening/listen-failure.ts'
import { Readiness } from './http/public/readiness.ts'
import { type Metrics, observeUpstream } from './metrics/metrics.ts'
import { type Announcement, announceRun } from './run-record.ts'
import { openStore } from './store/open-store.ts'
import { storageFailure } from './store/storage-failure.ts'
import type { Upstream } from './upstream/upstream.ts'
import type { UpstreamOptions } from './upstream/upstream-address.ts'

export interface ServiceOptions extends ExposureOptions {
  /** Created with mode 0700 if it is missing. The database is `chatctl.db` in it, with mode 0600. */
  dataDir: string
  /** Fills in what the URL of PostgreSQL omits: `PGHOST`, `PGPASSWORD`, `PGPASSFILE`, and others. */
  env?: NodeJS.ProcessEnv | undefined
  /** `postgres://…`. Default: SQLite in the data directory. */
  database?: string | undefined
  /** Default: 127.0.0.1. */
  host?: string | undefined
  /** Default: 0, any free port. */
  port?: number | undefined
  /** Default: the built-in model `offline`. */
  upstream?: UpstreamOptions | undefined
  /** The end of each reply of that model: how to use a real model. */
  offlineNotice?: string | undefined
  /** JSON lines on stderr, or text for `tell`. Default: `silent`. */
  log?: 'silent' | LogOptions | undefined
  /**
   * Writes a record into the data directory, so that commands on this machine find this service, and
   * another one into the default data directory if that is a different one.
   */
  announce?: Announcement | undefined
  /** The port of `/metrics`, `/healthz`, and `/readyz`. Default: not served. */
  admin?: { port: number | undefined } | undefined
  /** The version of chatctl. */
  version?: string | undefined
  /** How long, in ms, requests in progress may take to end when the service closes. Default: 4,000. */
  drain?: number | undefined
  /** Default: the system's clock. Times that oidc-provider reads from the system's clock are converted. */
  clock?: Clock | undefined
  /** Closes the service when aborted. */
  signal?: AbortSignal | undefined
}

export interface RunningService {
  url: string
  adminUrl: string | undefined
  dataDir: string
  /** This call created the data. */
  created: boolean
  /** A new API key that exists only in this process and acts as the built-in admin. */
  createProcessKey(): string
  /**
   * Stops accepting requests, lets those in progress end, and closes the database.
   * @param notice how long, in ms, `/readyz` reports that the service is stopping while requests are
   *   still accepted, so that a proxy sends the next ones elsewhere; only the first call counts
   */
  close(notice?: number): Promise<void>
}

/** How long, in ms, an aborted request may take to send its error before its connection is closed. */
const abortGrace = 500

/**
 * Starts the embedded service.
 * @throws Failure `storage` for the data directory, `conflict` for a port in use, `usage`, `config`, or
 * `refused` for an upstream, a certificate, or an address that cannot be used
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  options.signal?.throwIfAborted()
  const {
    host = '127.0.0.1',
    port = 0,
    log = 'silent',
    announce,
    drain = 4_000,
    clock = systemClock,
  } = options
  const dataDir = resolve(options.dataDir)
  const exposure = readExposure(host, options)
  const metrics = options.admin && (await loadMetrics(options.version ?? ''))
  const upstream = observe(await createUpstream(options, clock), metrics, clock)
  const store = await openStore({ dataDir, database: options.database, env: options.env })
  const processKeys = new Set<string>()
  const createProcessKey = () => {
    const key = generateKey()
    processKeys.add(hashKey(key))
    return key
  }
  // Commands join a service on SQLite only, whose data the readers of the record have anyway.
  const runKey = announce && options.database === undefined ? createProcessKey() : undefined
  const stopping = new AbortController()
  const readiness = new Readiness(store.db, clock)
  let listening: FastifyInstance | undefined
  let admin: AdminServer | undefined
  try {
    const logger = log === 'silent' ? undefined : await loadLogger(log)
    const { version } = options
    const parts = {
      store,
      dataDir,
      upstream,
      processKeys,
      runKey,
      logger,
      exposure,
      readiness,
      metrics,
      version,
      clock,
    }
    const server = createServer({ ...parts, stopping: stopping.signal })
    const url = await listen(server, host, port)
    listening = server
    if (metrics) admin = await startAdminServer({ metrics, readiness }, options.admin?.port, url)
    const adminUrl = admin?.url
    const { location } = store
    const details = {
      url,
      admin_url: adminUrl ?? null,
      version: version ?? null,
      place: location,
      upstream: options.upstream?.url ?? null,
      key: runKey ?? null,
    }
    const withdraw = announce && (await announceRun(dataDir, details, announce, clock))
    if (issuerOf(exposure, url) === undefined) logger?.warn(signInIsOff)
    logger?.info({ url, admin: adminUrl, data: dataDir, database: location }, 'listening')

    let closing: Promise<void> | undefined
    const close = (notice = 0) => {
      closing ??= shutDown(notice)
      return closing
    }
    const closeNow = () => close()
    const shutDown = async (notice: number) => {
      options.signal?.removeEventListener('abort', closeNow)
      readiness.stop()
      if (notice > 0) await clock.sleep(notice)
      await withdraw?.()
      await stop(server, stopping, drain)
      await admin?.close()
      await upstream.close()
      await store.close()
      logger?.info('closed')
    }
    options.signal?.addEventListener('abort', closeNow, { once: true })
    // The signal may have been aborted while the service was starting, before the listener was added.
    if (options.signal?.aborted) {
      await close()
      options.signal.throwIfAborted()
    }

    return {
      url,
      adminUrl,
      dataDir,
      created: store.created,
      createProcessKey,
      close,
    }
  } catch (error) {
    await listening?.close()
    await admin?.close()
    await upstream.close()
    await store.close()
    throw storageFailure(error, dataDir, store.location)
  }
}

async function createUpstream({ upstream, offlineNotice }: ServiceOptions, clock: Clock): Promise<Upstream> {
  if (!upstream) {
    const { createOffline } = await import('./upstream/offline.ts')
    return createOffline(offlineNotice, clock)
  }
  const { createOpenAiCompatible } = await import('./upstream/openai-compatible.ts')
  return createOpenAiCompatible(upstream, undefined, clock)
}

/** Loads prom-client only if metrics are served. */
async function loadMetrics(version: string): Promise<Metrics> {
  const { createMetrics } = await import('./metrics/create-metrics.ts')
  return createMetrics(version)
}

const observe = (upstream: Upstream, metrics: Metrics | undefined, clock: Clock) =>
  metrics ? observeUpstream(upstream, metrics, clock) : upstream

async function loadLogger(options: LogOptions) {
  const { createLogger } = await import('./http/create-logger.ts')
  return createLogger(options)
}

async function listen(server: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    return await server.listen({ host, port })
  } catch (cause) {
    await server.close()
    throw listenFailure(cause, host, port, 'service')
  }
}

async function stop(server: FastifyInstance, stopping: AbortController, drain: number): Promise<void> {
  const closed = server.close()
  const reason = new ApiError('service_stopping', 'The service is stopping')
  // A connection kept alive after its last response would delay the close until its timeout.
  const sweep = setInterval(() => server.server.closeIdleConnections(), 20)
  const abort = setTimeout(() => stopping.abort(reason), drain)
  const drop = setTimeout(() => server.server.closeAllConnections(), drain + abortGrace)
  try {
    await closed
  } finally {
    clearInterval(sweep)
    clearTimeout(abort)
    clearTimeout(drop)
  }
}
