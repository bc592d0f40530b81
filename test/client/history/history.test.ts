import { expect } from 'chai'
import { Client } from '../../../src/client/client.ts'
import { historyService, plainReading, storedAt } from '../../support/handlers/history.ts'
import { perTest } from '../../support/lifetime.ts'
import { failing, json, startScriptedServer } from '../../support/scripted-server.ts'
import { failureOf } from '../capture.ts'

const all = storedAt(Array.from({ length: 10 }, (_, index) => index))

describe('reading back the history', () => {
  const server = perTest(startScriptedServer)
  let client: Client

  afterEach(async () => {
    await client.close()
  })

  async function walk(): Promise<string[]> {
    const ids: string[] = []
    for await (const { messages } of client.history.pages({ context_id: 'c', limit: 4 }))
      ids.unshift(...messages.map((message) => message.id ?? ''))
    return ids
  }

  for (const cursor of ['id', 'created_at'] as const)
    it(`tries a cursor that had no effect only once: ${cursor}`, async () => {
      await server.serve(historyService({ ...plainReading, cursor, unknown: 'same' }, all))
      client = new Client({ baseUrl: server.url })
      expect(await walk()).to.deep.equal(all.map((message) => message.id))
      expect(server.requests).to.have.lengthOf(cursor === 'id' ? 3 : 4)
      expect(server.requests.every((request) => request.path.includes('context_id=c'))).to.equal(true)
    })

  it('sends one request for each page, also if pages are shorter than the limit', async () => {
    await server.serve(historyService({ ...plainReading, short: [1] }, all))
    client = new Client({ baseUrl: server.url })
    expect(await walk()).to.deep.equal(all.map((message) => message.id))
    expect(server.requests).to.have.lengthOf(all.length)
  })

  it('fails if neither cursor leads to older messages', async () => {
    await server.serve(json(200, { messages: all.slice(0, 4), has_more: true }))
    client = new Client({ baseUrl: server.url })
    expect((await failureOf(walk())).kind).to.equal('invalid_response')
    // One request without a cursor, and then two cursors, ID and time, for each of the two oldest messages, and the newest.
    expect(server.requests).to.have.lengthOf(7)
  })

  it('fails if the same full page is returned again without has_more', async () => {
    await server.serve(json(200, { messages: all.slice(-4) }))
    client = new Client({ baseUrl: server.url })
    expect((await failureOf(walk())).kind).to.equal('invalid_response')
  })

  it('fails with the error of the service if it accepts neither cursor', async () => {
    await server.serve({
      choose: (request) =>
        request.path.includes('before')
          ? failing(400, 'bad_cursor', 'What is this?')
          : json(200, { messages: all.slice(0, 4), has_more: true }),
    })
    client = new Client({ baseUrl: server.url })
    expect(await failureOf(walk())).to.include({ kind: 'rejected', code: 'bad_cursor' })
  })

  it('ignores entries that are not messages', async () => {
    await server.serve(json(200, { messages: [null, all[1], 5, all[0], 'x', []] }))
    client = new Client({ baseUrl: server.url })
    expect(await walk()).to.deep.equal(['m0', 'm1'])
  })
})
