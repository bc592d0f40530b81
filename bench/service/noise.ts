import { connect } from 'node:net'

/**
 * Sends the same request over and over, one at a time on each of several connections. A separate process
 * with plain sockets, so that it needs little CPU time beside the service. It answers each message of its
 * parent with the number of responses so far.
 */
const [port = '', connections = '', request = ''] = process.argv.slice(2)
let responses = 0

for (let index = 0; index < Number(connections); index++) {
  const socket = connect(Number(port), '127.0.0.1')
  let text = ''
  socket.setNoDelay(true)
  socket.on('connect', () => socket.write(request))
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    const end = text.indexOf('\r\n\r\n')
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1])
    if (end === -1 || text.length < end + 4 + length) return
    if (!text.startsWith('HTTP/1.1 200 ')) throw new Error(`the noise was answered ${text}`)
    text = ''
    responses++
    socket.write(request)
  })
}

process.on('message', () => process.send?.({ responses }))
process.on('disconnect', () => process.exit())
process.send?.({ responses })
