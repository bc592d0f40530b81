import { resolve } from 'node:path'
import { startPostgres } from '../../test/support/postgres.ts'
import { median } from '../measure.ts'
import { load, type Request } from './load.ts'
import { makeKey, program } from './make-key.ts'
import { startServer } from './server-process.ts'

const bare = resolve(import.meta.dirname, 'bare-postgres.mjs')
const connections = 32

/** Requests per second on a temporary PostgreSQL, relative to a server that makes three queries per request. */
export async function measurePostgres(rounds: number): Promise<{ service: number; bare: number }> {
  const postgres = await startPostgres()
  try {
    const database = await postgres.createDatabase()
    const key = makeKey(['--database', database])
    await postgres.query(
      `update settings set document = '{"limits":{"max_requests_per_min":1000000000}}'`,
      database,
    )
    const headers = { authorization: `Bearer ${key}` }
    const get: Request = { method: 'GET', path: '/v1/users/usr_admin', headers }
    const flags = [
      '--port',
      '0',
      '--database',
      database,
      '--json',
      '--log-level',
      'silent',
      '--admin-port',
      'off',
    ]
    const seen = { service: [] as number[], bare: [] as number[] }
    const commands = { service: [program, 'service', 'run', ...flags], bare: [bare, database] }
    for (let round = 0; round < rounds; round++) {
      for (const name of ['service', 'bare'] as const) {
        const server = await startServer(commands[name], get.path, headers)
        await load(server.url, get, { connections, count: 2_000 })
        seen[name].push(await load(server.url, get, { connections, count: 8_000 }))
        await server.stop()
      }
    }
    return { service: median(seen.service), bare: median(seen.bare) }
  } finally {
    await postgres.close()
  }
}
