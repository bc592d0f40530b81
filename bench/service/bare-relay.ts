import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'

/** A minimal relay in a separate process: forwards requests from node:http with undici, unchanged. */
const [modelServer = ''] = process.argv.slice(2)
const pool = new Pool(modelServer)

const server = createServer(async (request, response) => {
  if (request.method === 'GET') return response.end()
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const headers = { 'content-type': 'application/json' }
  const answer = await pool.request({ method: 'POST', path: '/v1/chat/completions', headers, body })
  response.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) })
  if (answer.headers['content-length'] !== undefined) return response.end(await answer.body.text())
  return answer.body.pipe(response)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`{"url":"http://127.0.0.1:${(server.address() as AddressInfo).port}"}
`)
})
