import { expect } from 'chai'
import { Client } from '../../src/client/client.ts'
import {
  type FaultServer,
  failing,
  json,
  type RecordedRequest,
  startFaultServer,
} from '../support/fault-server.ts'
import { failureOf } from './capture.ts'

interface Message {
  id: string
  content: string
  role: string
  created_at: string
}

const all: Message[] = Array.from({ length: 10 }, (_, index) => ({
  id: `m${index}`,
  content: `text ${index}`,
  role: index % 2 ? 'assistant' : 'user',
  created_at: new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString(),
}))

interface Reading {
  order: 'oldest' | 'newest'
  cursor: 'id' | 'created_at'
  /** What a cursor that is not understood leads to. */
  unknown: 'same' | 'empty' | 400 | 422
  inclusive?: boolean
}

function serviceOf({ order, cursor, unknown, inclusive = false }: Reading) {
  return {
    choose: (request: RecordedRequest) => {
      const query = new URL(request.path, 'http://x').searchParams
      const limit = Number(query.get('limit') ?? 4)
      const before = query.get('before')
      let end = all.length
      if (before !== null) {
        const index = all.findIndex((message) => message[cursor] === before)
        if (index >= 0) end = inclusive ? index + 1 : index
        else if (unknown === 'empty') return json(200, { messages: [], has_more: true })
        else if (unknown !== 'same') return failing(unknown, 'bad_cursor', 'What is this?')
      }
      const start = Math.max(0, end - limit)
      const page = all.slice(start, end)
      return json(200, { messages: order === 'oldest' ? page : page.toReversed(), has_more: start > 0 })
    },
  }
}

describe('history', () => {
  let server: FaultServer
  let client: Client

  afterEach(async () => {
    await client.close()
    await server.close()
  })

  async function walk(): Promise<string[]> {
    const ids: string[] = []
    for await (const { messages } of client.history.pages({ context_id: 'c', limit: 4 })) {
      ids.unshift(...messages.map((message) => message.id ?? ''))
    }
    return ids
  }

  for (const order of ['oldest', 'newest'] as const) {
    for (const cursor of ['id', 'created_at'] as const) {
      for (const unknown of ['same', 'empty', 400, 422] as const) {
        it(`is walked back with the ${order} first, a cursor of ${cursor}, and ${unknown} for any other`, async () => {
          server = await startFaultServer(serviceOf({ order, cursor, unknown }))
          client = new Client({ baseUrl: server.url })
          expect(await walk()).to.deep.equal(all.map((message) => message.id))
          // A cursor that led nowhere is not tried again.
          expect(server.requests).to.have.lengthOf(cursor === 'id' ? 3 : 4)
          expect(server.requests.every((request) => request.path.includes('context_id=c'))).to.equal(true)
        })
      }
    }
  }

  it('gives no message twice when the cursor is part of the page', async () => {
    server = await startFaultServer(
      serviceOf({ order: 'oldest', cursor: 'id', unknown: 'same', inclusive: true }),
    )
    client = new Client({ baseUrl: server.url })
    expect(await walk()).to.deep.equal(all.map((message) => message.id))
  })

  it('stops with an error when neither cursor leads on', async () => {
    server = await startFaultServer(json(200, { messages: all.slice(0, 4), has_more: true }))
    client = new Client({ baseUrl: server.url })
    const failure = await failureOf(walk())
    expect(failure.kind).to.equal('unusable_answer')
    expect(server.requests).to.have.lengthOf(3)
  })

  it('passes a refusal on when neither cursor is understood', async () => {
    server = await startFaultServer({
      choose: (request) =>
        request.path.includes('before')
          ? failing(400, 'bad_cursor', 'What is this?')
          : json(200, { messages: all.slice(0, 4), has_more: true }),
    })
    client = new Client({ baseUrl: server.url })
    expect(await failureOf(walk())).to.include({ kind: 'rejected', code: 'bad_cursor' })
  })

  it('is walked past entries that are no messages', async () => {
    server = await startFaultServer(json(200, { messages: [null, all[1], 5, all[0], 'x', []] }))
    client = new Client({ baseUrl: server.url })
    expect(await walk()).to.deep.equal(['m0', 'm1'])
  })

  it('is over when the service does not say that there is more', async () => {
    server = await startFaultServer(json(200, { messages: all.slice(0, 2) }))
    client = new Client({ baseUrl: server.url })
    expect(await walk()).to.deep.equal(['m0', 'm1'])
  })
})
