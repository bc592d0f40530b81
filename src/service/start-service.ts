import type { Server } from 'node:https'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { systemClock } from '../system/clock.ts'
import { serviceStopping } from './api-error.ts'
import { generateKey } from './domain/access/keys.ts'
import { loadArgon2 } from './domain/access/passwords.ts'
import type { AdminServer } from './http/admin-server.ts'
import type { LogOptions } from './http/create-logger.ts'
import {
  type Exposure,
  type ExposureOptions,
  issuerOf,
  listenFailure,
  readCertificate,
  readExposure,
  signInIsOff,
} from './http/listening/exposure.ts'
import type { PipelineOptions } from './http/request-pipeline.ts'
import type { Metrics } from './metrics/create-metrics.ts'
import {
  abortGrace,
  defaultDrain,
  type OpenedService,
  type OpenOptions,
  openService,
} from './open-service.ts'
import { type Announcement, announceRun } from './run-record.ts'
import { storageFailure } from './store/storage-failure.ts'

export interface ServiceOptions
  extends ExposureOptions,
    OpenOptions,
    Pick<PipelineOptions, 'servesOpenAi' | 'openAiFields' | 'openAiBodyLimit'> {
  /** Default: 127.0.0.1. */
  host?: string | undefined
  /** Default: 0, any free port. */
  port?: number | undefined
  /** JSON lines on stderr, or text for `tell`. Default: `silent`. */
  log?: 'silent' | LogOptions | undefined
  /** Writes a record into the data directory, so that commands on this machine find this service. */
  announce?: Announcement | undefined
  /** The port of `/metrics`, `/healthz`, and `/readyz`. Default: not served. */
  admin?: { port: number | undefined } | undefined
  /** Whether a device sign-in may have the scope `admin`. Default: no. */
  allowsDeviceAdmin?: boolean | undefined
  /** Reads the URL of PostgreSQL again, from where `database` comes from. */
  readDatabase?: (() => string | undefined) | undefined
  /** The version of chatctl. */
  version?: string | undefined
  /** How long, in ms, requests in progress may take to end when the service closes. Default: 4,000. */
  drain?: number | undefined
}

export interface RunningService {
  url: string
  /** The origin that clients use, if it is another one. */
  publicUrl: string | undefined
  adminUrl: string | undefined
  dataDir: string
  /** This call created the data. */
  created: boolean
  /** A new API key that exists only in this process and acts as the built-in admin. */
  createProcessKey(): string
  /**
   * Reads the certificate, the keys, and the URL of the database again, and logs the outcome. If one is invalid, all
   * stay as they are.
   */
  reload(): void
  /**
   * Stops accepting requests, lets those in progress end, and closes the database.
   * @param notice how long, in ms, `/readyz` reports that the service is stopping while requests are
   *   still accepted, so that a proxy sends the next ones elsewhere; only the first call counts
   */
  close(notice?: number): Promise<void>
}

/**
 * Starts the service on a port.
 * @throws Failure `storage` for the data directory, `conflict` for a port in use, `usage`, `config`, or
 * `refused` for a model server, a certificate, or an address that cannot be used
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const { host = '127.0.0.1', log = 'silent', version } = options
  const exposure = readExposure(host, options)
  const metrics = options.admin && (await import('./metrics/create-metrics.ts')).createMetrics(version ?? '')
  const logger = log === 'silent' ? undefined : (await import('./http/create-logger.ts')).createLogger(log)
  // Not with the first sign-in: an update of the package replaces its files.
  await Promise.all([import('./oauth/open-oauth.ts'), loadArgon2()])
  const { publicUrl } = exposure
  // A set compares hashes with a random seed first, so the time of a comparison reveals nothing about a key.
  const processKeys = new Set<string>()
  const isProcessKey = (key: string) => processKeys.has(key)
  const createProcessKey = () => {
    const key = generateKey()
    processKeys.add(key)
    return key
  }
  const parts = { ...options, isProcessKey, logger, metrics, publicUrl }
  const service = await openService(options, parts)
  try {
    const running = await serve(service, { ...options, host, exposure, metrics, logger })
    return { ...running, createProcessKey }
  } catch (error) {
    await service.close()
    throw storageFailure(error, service.dataDir, service.store.location)
  }
}

/** Listens with a service that is open. */
async function serve(
  service: OpenedService,
  options: ServiceOptions & {
    host: string
    exposure: Exposure
    metrics: Metrics | undefined
    logger: FastifyBaseLogger | undefined
  },
): Promise<Omit<RunningService, 'createProcessKey'>> {
  const { dataDir, store, pipeline } = service
  const { readiness } = pipeline
  const { host, port = 0, exposure, metrics, logger } = options
  const { announce, version, allowsDeviceAdmin, env, drain = defaultDrain, clock = systemClock } = options
  const { createServer } = await import('./http/create-server.ts')
  const served = { pipeline, store, dataDir, logger, exposure, metrics, clock, allowsDeviceAdmin, env }
  const server = createServer(served)
  const url = await listen(server, host, port)
  let admin: AdminServer | undefined
  try {
    if (metrics) {
      const { startAdminServer } = await import('./http/admin-server.ts')
      admin = await startAdminServer({ metrics, readiness }, options.admin?.port, url)
    }
    const { location: place } = store
    const details = { url, admin_url: admin?.url ?? null, version: version ?? null, place }
    const withdraw = announce && announceRun(dataDir, details, announce, clock)
    if (issuerOf(exposure, url) === undefined) logger?.warn(signInIsOff)
    const { publicUrl } = exposure
    // From now on, its lock keeps others from migrating the data.
    store.generation()
    if (store.migrated && !store.created)
      logger?.info({ ...store.migrated, backup: store.backup }, 'migrated')
    const adminUrl = admin?.url
    logger?.info({ url, public_url: publicUrl, admin: adminUrl, data: dataDir, database: place }, 'listening')

    const shutDown = async (notice: number) => {
      readiness.stop()
      if (notice > 0) await clock.sleep(notice)
      withdraw?.()
      await stop(server, service.abort, drain)
      await admin?.close()
      await service.close()
      logger?.info('closed')
    }
    let closing: Promise<void> | undefined
    const close = (notice = 0) => {
      closing ??= shutDown(notice)
      return closing
    }
    const reload = () => reloadFiles(options, service, server.server, logger)
    return { url, publicUrl, adminUrl, dataDir, created: store.created, reload, close }
  } catch (error) {
    await server.close()
    await admin?.close()
    throw error
  }
}

async function listen(server: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    return await server.listen({ host, port })
  } catch (cause) {
    await server.close()
    throw listenFailure(cause, host, port, 'service')
  }
}

/** As `RunningService.reload`. */
function reloadFiles(
  { tls, readDatabase }: ServiceOptions,
  { replySource, store }: OpenedService,
  server: FastifyInstance['server'],
  logger: FastifyBaseLogger | undefined,
): void {
  try {
    const certificate = tls && readCertificate(tls)
    const database = readDatabase?.()
    const useDatabase = database === undefined ? undefined : store.prepareReload?.(database)
    replySource.reload()
    useDatabase?.()
    if (certificate) (server as Server).setSecureContext(certificate)
    logger?.info('reloaded')
  } catch (err) {
    logger?.error({ err }, 'nothing was reloaded')
  }
}

async function stop(server: FastifyInstance, abort: (reason: unknown) => void, drain: number): Promise<void> {
  const closed = server.close()
  // A connection kept alive after its last response would delay the close until its timeout.
  const sweep = setInterval(() => server.server.closeIdleConnections(), 20)
  const end = setTimeout(() => abort(serviceStopping()), drain)
  const drop = setTimeout(() => server.server.closeAllConnections(), drain + abortGrace)
  try {
    await closed
  } finally {
    clearInterval(sweep)
    clearTimeout(end)
    clearTimeout(drop)
  }
}
