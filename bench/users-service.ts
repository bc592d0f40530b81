import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A service in a separate process that creates users without storing them, so that its memory stays constant. */
const [delay = '0'] = process.argv.slice(2)
let made = 0

const server = createServer((request, response) => {
  request.resume().once('end', () => {
    const answer = () =>
      response
        .writeHead(201, { 'content-type': 'application/json' })
        .end(`{"id":"usr_${String(made++).padStart(8, '0')}"}`)
    if (delay === '0') answer()
    else setTimeout(answer, Number(delay))
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`{"url":"http://127.0.0.1:${(server.address() as AddressInfo).port}"}\n`)
})
