import { resolve } from 'node:path'
import { type Clock, systemClock } from '../system/clock.ts'
import { type PipelineOptions, RequestPipeline } from './http/request-pipeline.ts'
import type { Metrics } from './metrics/create-metrics.ts'
import { observeReplySource } from './metrics/metrics.ts'
import type { ModelServerOptions } from './replies/model-server.ts'
import type { ReplySource } from './replies/reply-source.ts'
import { openStore } from './store/open-store.ts'
import { storageFailure } from './store/storage-failure.ts'
import type { Store } from './store/tables.ts'

/** How long, in ms, requests in progress may take to end when a service closes. */
export const defaultDrain = 4_000

/** How long, in ms, an aborted request may take to send its error before its connection is closed. */
export const abortGrace = 500

export interface OpenOptions {
  /** Created with mode 0700 if it is missing. The database is `chatctl.db` in it, with mode 0600. */
  dataDir: string
  /** Names the proxy, and what the URL of PostgreSQL omits (`PGHOST` and others), but not the password file. */
  env?: NodeJS.ProcessEnv | undefined
  /** `postgres://…`. Default: SQLite in the data directory. */
  database?: string | undefined
  /** Also migrates older data that other processes use. Default: that is refused. */
  migratesAlways?: boolean | undefined
  /** Default: the built-in test program. */
  modelServer?: ModelServerOptions | undefined
  /** The end of each reply of that model: how to use a real model. */
  testProgramNotice?: string | undefined
  /** Default: the system's clock. Times that oidc-provider reads from the system's clock are converted. */
  clock?: Clock | undefined
}

/** A service that is ready for requests, however they arrive. */
export interface OpenedService {
  dataDir: string
  store: Store
  pipeline: RequestPipeline
  replySource: ReplySource
  /** Aborts the requests in progress. */
  abort(reason: unknown): void
  /** Closes the model server connection and the database. No request may be in progress. */
  close(): Promise<void>
}

/** What the pipeline needs in addition to the parts that `openService` opens. */
type PipelineParts = Omit<PipelineOptions, 'store' | 'replySource' | 'stopping' | 'clock'>

/** Opens the database and the model server connection. @throws Failure `storage`, `usage`, `config`, or `refused` */
export async function openService(options: OpenOptions, parts: PipelineParts): Promise<OpenedService> {
  const { clock = systemClock, database, env } = options
  const migration = options.migratesAlways ? 'always' : 'unused'
  const dataDir = resolve(options.dataDir)
  const replySource = observe(await createReplySource(options, clock), parts.metrics, clock)
  const store = await openStore({ dataDir, database, env, migration })
  const stopping = new AbortController()
  const close = async () => {
    await replySource.close()
    await store.close()
  }
  try {
    const pipeline = new RequestPipeline({ ...parts, store, replySource, stopping: stopping.signal, clock })
    const abort = (reason: unknown) => stopping.abort(reason)
    return { dataDir, store, pipeline, replySource, abort, close }
  } catch (error) {
    await close()
    throw storageFailure(error, dataDir, store.location)
  }
}

async function createReplySource(
  { modelServer, testProgramNotice, env }: OpenOptions,
  clock: Clock,
): Promise<ReplySource> {
  if (!modelServer) {
    const { createTestProgram } = await import('./replies/test-program.ts')
    return createTestProgram(testProgramNotice, clock)
  }
  const { createOpenAiCompatible } = await import('./replies/openai-compatible.ts')
  return createOpenAiCompatible({ ...modelServer, env }, undefined, clock)
}

const observe = (replySource: ReplySource, metrics: Metrics | undefined, clock: Clock) =>
  metrics ? observeReplySource(replySource, metrics, clock) : replySource
