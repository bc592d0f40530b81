import { DatabaseSync } from 'node:sqlite'
import { fastify } from 'fastify'

/** Fastify with the query of the service on a copy of its data: no keys, limits, validation, or logs. */
const [file = ''] = process.argv.slice(2)
const database = new DatabaseSync(file, { timeout: 10_000 })
database.exec('pragma journal_mode = wal')
const findUser = database.prepare(
  `select users.*, preferences.document from users
   inner join preferences on preferences.user_id = users.id where users.id = ?`,
)

const server = fastify()
server.get('/v1/users/:id', (request) => {
  const { id, email, name, created_at, metadata, document } = findUser.get(request.params.id)
  return { id, email, name, created_at, metadata: JSON.parse(metadata), settings: JSON.parse(document) }
})
const url = await server.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${JSON.stringify({ url })}\n`)
