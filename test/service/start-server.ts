import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateKey } from '../../src/service/domain/access/keys.ts'
import { createServer, type ServerOptions } from '../../src/service/http/create-server.ts'
import { type PipelineOptions, RequestPipeline } from '../../src/service/http/request-pipeline.ts'
import { createTestProgram } from '../../src/service/replies/test-program.ts'
import { openSqlite, type SqliteStore } from '../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../src/system/clock.ts'
import { caller, type TemporaryService } from './temporary-service.ts'

/** The HTTP server of the service, without the parts that start a service. */
export interface StartedServer {
  url: string
  store: SqliteStore
  /** A key of the process. */
  key: string
  /** Sends a request with that key. */
  call: TemporaryService['call']
  close(): Promise<void>
}

/** The parts of a server and of its pipeline that a test chooses. */
type ServerParts = Partial<Omit<ServerOptions, 'pipeline'> & PipelineOptions>

/** A server with its pipeline. It has the built-in model, no keys, and no log, unless the test chooses others. */
export function createTestServer(parts: ServerParts & Pick<ServerOptions, 'store' | 'dataDir'>) {
  const wired = {
    replySource: createTestProgram(),
    isProcessKey: () => false,
    stopping: new AbortController().signal,
    logger: undefined,
    clock: systemClock,
    ...parts,
  }
  return createServer({ ...wired, pipeline: new RequestPipeline(wired) })
}

/**
 * Starts a server on an empty store, which is deleted when it is closed. By default, it uses the built-in
 * model and has no log.
 */
export async function startServer(parts: ServerParts = {}): Promise<StartedServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'chatctl-server-'))
  const store = openSqlite(dataDir)
  const key = generateKey()
  const server = createTestServer({ store, dataDir, isProcessKey: (given) => given === key, ...parts })
  const url = await server.listen({ host: '127.0.0.1', port: 0 })
  const close = async () => {
    await server.close()
    await store.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
  return { url, store, key, call: caller(url, key), close }
}

/** Runs such a server while `use` runs. */
export async function withServer<T>(
  parts: ServerParts,
  use: (server: StartedServer) => Promise<T>,
): Promise<T> {
  const server = await startServer(parts)
  try {
    return await use(server)
  } finally {
    await server.close()
  }
}
