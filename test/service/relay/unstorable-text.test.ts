import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { StorableStream, storableText } from '../../../src/service/domain/chat/chat.ts'
import { sendDelta, sendDone, sendJson, startEvents } from '../../support/model-server.ts'
import { allEvents } from '../read-events.ts'
import { modelOn, onEachTransport } from '../temporary-service.ts'

/** U+0000, which a column cannot store, half a character between two pieces, and one at the end. */
const pieces = ['a\u0000b \ud83d', '\udc4d \ud800 c', 'd \ud83d']
const kept = 'a\ufffdb 👍 \ufffd cd \ufffd'

async function answer(response: ServerResponse, { body }: { body: string }): Promise<void> {
  if (!JSON.parse(body).stream) {
    return sendJson(response, { choices: [{ message: { content: pieces.join('') } }] })
  }
  startEvents(response)
  for (const piece of pieces) {
    sendDelta(response, piece)
    await pause(10)
  }
  sendDelta(response, '', 'stop')
  sendDone(response)
}

onEachTransport('a reply with text that the database cannot store', (withService) => {
  const withModel = modelOn(withService)

  for (const stream of [false, true]) {
    it(`is sent to the client as it is stored, ${stream ? 'streamed' : 'whole'}`, () =>
      withModel(answer, async ({ call, open }) => {
        const asked = { message: 'x', model: 'm1', stream }
        const response = await open('POST', '/api/chat/send', asked)
        if (stream) {
          const events = await allEvents(response)
          const deltas = events.slice(0, -1).map(({ data }) => data.delta)
          expect(deltas.join('')).to.equal(kept)
          for (const delta of deltas) expect(delta.isWellFormed()).to.equal(true)
          expect(events.at(-1)?.data.response).to.equal(kept)
        } else {
          expect((await response.json()) as object).to.include({ response: kept })
        }
        const { messages } = (await call('GET', '/api/chat/history')).body
        expect(messages[1].content).to.equal(kept)
      }))
  }
})

describe('storable text in pieces', () => {
  it('is the same as in one piece, however it is split', () => {
    const units = fc.array(fc.constantFrom('a', '\0', '\ud83d', '\udc4d', '漢'), { maxLength: 12 })
    fc.assert(
      fc.property(fc.array(units), (cut) => {
        const stream = new StorableStream()
        const taken = cut.map((piece) => stream.take(piece.join('')))
        expect([...taken, stream.end()].join('')).to.equal(storableText(cut.flat().join('')))
      }),
    )
  })
})
