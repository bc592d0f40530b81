import { resolve } from 'node:path'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { isLoopback } from '../contract/base-url.ts'
import { Failure } from '../failure.ts'
import { generateKey, hashKey } from './domain/keys.ts'
import { Refusal } from './domain/refusal.ts'
import { createServer } from './http/create-server.ts'
import { announceRun, withdrawRun } from './run-record.ts'
import { openStore } from './store/open-store.ts'
import { storageFailure } from './store/storage-failure.ts'
import type { Upstream } from './upstream/upstream.ts'
import type { UpstreamOptions } from './upstream/upstream-address.ts'

export interface ServiceOptions {
  /** Made, 0700, when missing; the database is `chatctl.db` inside, 0600. */
  dataDir: string
  /** `postgres://…`, in place of the database in the data folder. */
  database?: string | undefined
  /** 127.0.0.1 when not given. Anything else than loopback is the caller's decision. */
  host?: string | undefined
  /** 0, any free one, when not given. */
  port?: number | undefined
  /** The origin that clients see, `https://chat.example`, where it is not the one that it listens on. */
  issuer?: string | undefined
  /** None: the built-in model `offline`. */
  upstream?: UpstreamOptions | undefined
  /** JSON lines on stderr, or nothing, which is the default. */
  log?: 'silent' | { level: string } | undefined
  /** Writes a record into the data folder by which `service status` finds this service. */
  announce?: boolean | undefined
  /** How long, in ms, running answers may take to end when the service closes; 4,000 when not given. */
  drain?: number | undefined
  /** Closes the service when aborted. */
  signal?: AbortSignal | undefined
}

export interface RunningService {
  url: string
  dataDir: string
  /** This call made the data. */
  created: boolean
  /** A new API key that lives only in this process and acts as the admin. */
  createProcessKey(): string
  /** Stops accepting, lets running answers end, closes the database. */
  close(): Promise<void>
}

/** How long, in ms, an answer that was cut off may take to say so. */
const farewell = 500

/**
 * Starts the embedded service.
 * @throws Failure `storage` for the data folder, `conflict` for a port in use, `config` or
 * `refused` for an upstream that cannot be used
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  options.signal?.throwIfAborted()
  const { host = '127.0.0.1', port = 0, log = 'silent', announce = false, drain = 4_000 } = options
  const dataDir = resolve(options.dataDir)
  const upstream = await createUpstream(options.upstream)
  const store = await openStore({ dataDir, database: options.database })
  const processKeys = new Set<string>()
  const stopping = new AbortController()
  let listening: FastifyInstance | undefined
  try {
    const logger = log === 'silent' ? undefined : await loadLogger(log.level)
    const server = createServer({
      ...{ store, upstream, processKeys, stopping: stopping.signal, logger, issuer: options.issuer },
    })
    const url = await listen(server, host, port)
    listening = server
    if (announce) await announceRun(dataDir, url, store.place)
    if (!isLoopback(host)) logger?.warn({ host }, 'reachable from other machines, without encryption')
    logger?.info({ url, data: dataDir, database: store.place }, 'listening')

    let closing: Promise<void> | undefined
    const close = () => {
      closing ??= shutDown()
      return closing
    }
    const shutDown = async () => {
      options.signal?.removeEventListener('abort', close)
      if (announce) await withdrawRun(dataDir)
      await stop(server, stopping, drain)
      await upstream.close()
      await store.close()
      logger?.info('closed')
    }
    options.signal?.addEventListener('abort', close, { once: true })
    // It may have been aborted while the service was starting, which no listener hears of.
    if (options.signal?.aborted) {
      await close()
      options.signal.throwIfAborted()
    }

    return {
      url,
      dataDir,
      created: store.created,
      createProcessKey() {
        const key = generateKey()
        processKeys.add(hashKey(key))
        return key
      },
      close,
    }
  } catch (error) {
    await listening?.close()
    await upstream.close()
    await store.close()
    throw storageFailure(error, dataDir, store.place)
  }
}

async function createUpstream(options: UpstreamOptions | undefined): Promise<Upstream> {
  if (!options) {
    const { createOffline } = await import('./upstream/offline.ts')
    return createOffline()
  }
  const { createOpenAiCompatible } = await import('./upstream/openai-compatible.ts')
  return createOpenAiCompatible(options)
}

async function loadLogger(level: string): Promise<FastifyBaseLogger> {
  const { createLogger } = await import('./http/create-logger.ts')
  return createLogger(level)
}

async function listen(server: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    return await server.listen({ host, port })
  } catch (cause) {
    await server.close()
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    switch (code) {
      case 'EADDRINUSE':
        throw new Failure('conflict', `Port ${port} on ${host} is in use`, {
          hint: 'Choose another one with --port, or --port 0 for any that is free',
          cause,
        })
      case 'EACCES':
        throw new Failure('refused', `Port ${port} may not be used by this user`, {
          hint: 'Choose one above 1023 with --port',
          cause,
        })
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
      case 'EAI_AGAIN':
        throw new Failure('config', `This machine has no address ${host}`, { cause })
      default:
        throw cause
    }
  }
}

async function stop(server: FastifyInstance, stopping: AbortController, drain: number): Promise<void> {
  const closed = server.close()
  const reason = new Refusal('service_stopping', 'The service is stopping')
  // A connection kept alive after its last answer would hold the close back until it times out.
  const sweep = setInterval(() => server.server.closeIdleConnections(), 20)
  const cut = setTimeout(() => stopping.abort(reason), drain)
  const drop = setTimeout(() => server.server.closeAllConnections(), drain + farewell)
  try {
    await closed
  } finally {
    clearInterval(sweep)
    clearTimeout(cut)
    clearTimeout(drop)
  }
}
