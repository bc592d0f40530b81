import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'
import { tellCpu } from './tell-cpu.ts'

/** A minimal relay in a separate process: forwards requests from node:http with undici, unchanged. */
const [modelServer = ''] = process.argv.slice(2)
const pool = new Pool(modelServer)

const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const headers = { 'content-type': 'application/json' }
  const answer = await pool.request({ method: 'POST', path: '/v1/chat/completions', headers, body })
  response.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) })
  if (answer.headers['content-length'] === undefined) answer.body.pipe(response)
  else response.end(await answer.body.text())
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
tellCpu()
