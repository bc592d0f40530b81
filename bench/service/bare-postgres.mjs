import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import pg from 'pg'

/**
 * A typical server, with three separate queries per request: find the key, count the request, read the
 * resource.
 */
const [connectionString] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString, max: 10 })
await pool.query(
  `create table if not exists bare_counts (key_id text, hour bigint, n bigint, primary key (key_id, hour))`,
)

const server = createServer(async (request, response) => {
  const key = request.headers.authorization?.slice('Bearer '.length) ?? ''
  const hash = createHash('sha256').update(key).digest('hex')
  const id = request.url?.slice(request.url.lastIndexOf('/') + 1) ?? ''
  const keys = await pool.query(
    `select k.id, u.role, u.permissions from api_keys k join users u on u.id = k.user_id
     where k.hash = $1 and k.revoked_at is null`,
    [hash],
  )
  await pool.query(
    `insert into bare_counts (key_id, hour, n) values ($1, $2, 1)
     on conflict (key_id, hour) do update set n = bare_counts.n + 1 returning n`,
    [keys.rows[0].id, Math.floor(Date.now() / 3_600_000)],
  )
  const users = await pool.query(
    'select u.*, p.document from users u join preferences p on p.user_id = u.id where u.id = $1',
    [id],
  )
  const [user] = users.rows
  const body = JSON.stringify({
    id: user.id,
    email: user.email,
    name: user.name,
    created_at: user.created_at,
    metadata: JSON.parse(user.metadata),
    settings: JSON.parse(user.document),
  })
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`)
})
