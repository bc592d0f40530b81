import { expect } from 'chai'
import { Client } from '../../src/client/client.ts'
import { type Behavior, json, startFaultServer, stream } from '../support/fault-server.ts'
import { failureOf } from './capture.ts'

const words = 'CUDA out of memory'
const half = 'data: {"delta":"Half"}\n\n'

describe('the message of a failed request', () => {
  async function failureTo(behavior: Behavior): Promise<string> {
    const server = await startFaultServer(behavior)
    const client = new Client({ baseUrl: server.url, retries: 0 })
    try {
      return (await failureOf(client.chat.collect({ message: 'hi' }))).message
    } finally {
      await client.close()
      await server.close()
    }
  }

  const bodies: unknown[] = [
    { error: { code: 'x', message: words } },
    { error: words },
    { message: words },
    { error: 'server_error', error_description: words },
    { detail: words },
    { detail: [{ loc: ['body'], msg: words, type: 'x' }] },
  ]
  for (const body of bodies) {
    it(`is read from ${JSON.stringify(body)}`, async () => {
      expect(await failureTo(json(500, body))).to.equal(words)
    })
  }

  const ends: string[] = [
    `data: {"error":{"message":"${words}"}}\n\n`,
    `data: {"error":"${words}"}\n\n`,
    `event: error\ndata: {"message":"${words}"}\n\n`,
    `event: error\ndata: ${words}\n\n`,
    `data: {"object":"error","message":"${words}","code":500}\n\n`,
    `error: {"code":500,"message":"${words}"}\n\n`,
    `{"error":{"message":"${words}"}}\n`,
  ]
  for (const end of ends) {
    it(`is read from a stream that ends with ${JSON.stringify(end)}`, async () => {
      expect(await failureTo(stream([half, end]))).to.equal(words)
    })
  }
})
