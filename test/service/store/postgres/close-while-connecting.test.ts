import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect } from 'chai'
import { ChangeFeed } from '../../../../src/service/store/postgres/change-feed.ts'
import { PostgresClient } from '../../../../src/service/store/postgres/postgres-client.ts'

describe('the feed of changes in PostgreSQL', () => {
  it('can be closed while it is connecting', async () => {
    // Accepts connections and never responds.
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const feed = new ChangeFeed(
      () => new PostgresClient({ host: '127.0.0.1', port, user: 'x', database: 'x' }),
    )
    try {
      const connected = once(server, 'connection')
      feed.generation()
      const [socket] = (await connected) as [Socket]
      socket.resume()
      await once(socket, 'data')
      const waited = new Promise((resolve) => setTimeout(resolve, 5_000, 'still waiting').unref())
      expect(await Promise.race([feed.close(), waited])).to.equal(undefined)
    } finally {
      server.close()
    }
  })
})

describe('a client of PostgreSQL', () => {
  it('leaves no timer behind when it is ended after the server has closed the connection', async () => {
    const server = createServer((socket) => socket.resume().end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const client = new PostgresClient({ host: '127.0.0.1', port, user: 'x', database: 'x' })
    const countTimers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    try {
      const ended = once(client, 'end')
      expect(await client.connect().catch((error) => error)).to.be.instanceOf(Error)
      await ended
      const before = countTimers()
      await client.end()
      expect(countTimers()).to.equal(before)
    } finally {
      server.close()
    }
  })
})
