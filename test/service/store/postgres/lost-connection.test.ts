import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect } from 'chai'
import { PostgresClient } from '../../../../src/service/store/postgres/postgres-client.ts'

describe('a connection to PostgreSQL', () => {
  it('fails, without an unhandled error, if it ends while its settings are sent', async () => {
    // AuthenticationOk and ReadyForQuery (PostgreSQL documentation, "Message Formats").
    const ready = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])
    const server = createServer((socket) => {
      socket.once('data', () => {
        socket.write(ready)
        socket.once('data', () => socket.end())
      })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    try {
      const { port } = server.address() as AddressInfo
      const settings = { text: 'select 1' }
      const client = new PostgresClient({ host: '127.0.0.1', port, user: 'chatctl', settings })
      const failure: unknown = await client.connect().catch((error: unknown) => error)
      expect(failure).to.have.property('message', 'Connection terminated unexpectedly')
    } finally {
      server.close()
    }
  })
})
