import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect } from 'chai'
import { findPeerUser } from '../../src/auth/first-browser.ts'

/** Connects, ends the connection as `end` does, and looks for the user when the server has seen the end. */
async function findAfter(end: (client: Socket) => void): Promise<number | undefined> {
  // As http.Server does.
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const accepted = once(server, 'connection')
  const client = connect({ port, host: '127.0.0.1' })
  const [socket]: Socket[] = await accepted
  try {
    const ended = once(socket as Socket, 'end')
    socket?.resume()
    end(client)
    await ended
    return findPeerUser(socket as Socket)
  } finally {
    client.destroy()
    socket?.destroy()
    server.close()
  }
}

describe('the user at the other end of a connection', () => {
  before(function () {
    if (process.platform !== 'linux') this.skip()
  })

  it('is found after the other program has closed its half of the connection', async () =>
    expect(await findAfter((client) => client.end())).to.equal(process.getuid?.()))

  it('is unknown, and not root, after the other program has closed the whole connection', async () =>
    expect(await findAfter((client) => client.destroy())).to.equal(-1))
})
