import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'

/**
 * A minimal server with the same SQL on a copy of the service's data: no keys, limits, validation, or
 * logs, and one commit per write.
 */
const [file = ''] = process.argv.slice(2)
const database = new DatabaseSync(file, { timeout: 10_000 })
database.exec('pragma journal_mode = wal')
database.exec('pragma synchronous = full')
const findUser = database.prepare('select * from users where id = ?')
const findPreferences = database.prepare('select document from preferences where user_id = ?')
const insertContext = database.prepare('insert into contexts (id, user_id, created_at) values (?, ?, ?)')
const insertMessage = database.prepare(
  `insert into messages (context_id, user_id, id, role, content, incomplete, model, finish_reason, created_at)
   values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
)
let sent = 0

const server = createServer((request, response) => {
  const answer = (body) => {
    const text = JSON.stringify(body)
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
    })
    response.end(text)
  }
  if (request.method === 'GET') {
    const id = request.url?.slice(request.url.lastIndexOf('/') + 1) ?? ''
    const user = findUser.get(id)
    const preferences = findPreferences.get(id)
    answer({
      id: user['id'],
      email: user['email'],
      name: user['name'],
      created_at: user['created_at'],
      metadata: JSON.parse(user['metadata'] ?? ''),
      settings: JSON.parse(preferences.document),
    })
    return
  }
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const { message } = JSON.parse(Buffer.concat(chunks).toString())
    const now = new Date().toISOString()
    const id = `${process.pid}_${++sent}`
    const response = `This is a reply to ${message}`
    database.exec('begin immediate')
    insertContext.run(`ctx_${id}`, 'usr_admin', now)
    insertMessage.run(`ctx_${id}`, 'usr_admin', `msg_${id}_1`, 'user', message, 0, null, null, now)
    insertMessage.run(`ctx_${id}`, 'usr_admin', `msg_${id}_2`, 'assistant', response, 0, 'bare', 'stop', now)
    database.exec('commit')
    answer({ id: `msg_${id}_2`, response, context_id: `ctx_${id}`, created_at: now })
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`)
})
