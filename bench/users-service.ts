import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A service in a separate process that creates users without storing them, so that its memory stays
 * constant. A read returns a user with the metadata that `diff-users.ts` expects. Sends its port to the parent process, and ends with it.
 */
const [delay = '0'] = process.argv.slice(2)
let made = 0

const server = createServer((request, response) => {
  request.resume()
  request.once('end', () => {
    const answer = () => {
      const [, read] = /^\/v1\/users\/(usr_\d+)$/.exec(request.url ?? '') ?? []
      const id = request.method === 'GET' && read ? read : `usr_${String(made++).padStart(8, '0')}`
      response
        .writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' })
        .end(read ? `{"id":"${id}","metadata":{"company":"Acme"}}` : `{"id":"${id}"}`)
    }
    if (delay === '0') answer()
    else setTimeout(answer, Number(delay))
  })
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit(0))
