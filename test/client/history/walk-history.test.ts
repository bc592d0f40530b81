import { expect } from 'chai'
import fc from 'fast-check'
import { Client } from '../../../src/client/client.ts'
import { forAllTimesAsync } from '../../support/for-all.ts'
import {
  type HistoryReading,
  historyService,
  plainReading,
  readings,
  type StoredMessage,
  storedAt,
} from '../../support/handlers/history.ts'
import { perSuite } from '../../support/lifetime.ts'
import { json, type Script, startScriptedServer } from '../../support/scripted-server.ts'

/** Minutes in ascending order, of which at most `group` are equal. */
const minutes = (group: number): fc.Arbitrary<number[]> =>
  fc
    .array(fc.integer({ min: 1, max: group }), { maxLength: 15 })
    .map((sizes) => sizes.flatMap((size, minute) => Array<number>(size).fill(minute)))

describe('reading back the history of a service of any kind', function () {
  this.timeout(120_000)
  const server = perSuite(() =>
    startScriptedServer({
      choose: (request, index) =>
        typeof script === 'object' && 'choose' in script ? script.choose(request, index) : () => {},
    }),
  )
  let script: Script

  async function walk(reading: HistoryReading, stored: StoredMessage[]) {
    return walkScript(historyService(reading, stored))
  }

  async function walkScript(behaviors: Extract<Script, { choose: unknown }>) {
    const first = server.requests.length
    script = { choose: (request, index) => behaviors.choose(request, index - first) }
    const client = new Client({ baseUrl: server.url })
    const messages: StoredMessage[] = []
    let unsure = false
    try {
      for await (const batch of client.history.pages({ limit: 6 })) {
        messages.unshift(...(batch.messages as StoredMessage[]))
        unsure ||= batch.unsure
      }
    } finally {
      await client.close()
    }
    return { messages, unsure }
  }

  it('returns every message once and in order', async () => {
    // A page holds more messages than have the same time: a service can hide messages behind a full page of one time.
    await forAllTimesAsync(0.5, readings, minutes(3), async (reading, at) => {
      // The order of messages with the same time cannot be determined.
      fc.pre(at.length < 3 || at[0] !== at.at(-1))
      const stored = storedAt(at)
      const { messages, unsure } = await walk(reading, stored)
      expect(messages.map(({ id }) => id)).to.deep.equal(stored.map(({ id }) => id))
      expect(unsure).to.equal(false)
    })
  })

  it('returns every message if pages are shorter than the limit', () =>
    forAllTimesAsync(
      0.5,
      readings,
      minutes(1),
      fc.array(fc.integer({ min: 2, max: 4 }), { minLength: 1 }),
      async (reading, at, short) => {
        const stored = storedAt(at)
        const hasMore = reading.hasMore === 'when full' ? 'exact' : reading.hasMore
        const { messages } = await walk({ ...reading, hasMore, short }, stored)
        expect(messages.map(({ id }) => id)).to.deep.equal(stored.map(({ id }) => id))
      },
    ))

  it('returns every message if a cursor names a row, however many messages have the same time', async () => {
    const rows = fc.record({
      before: fc.constantFrom<HistoryReading['before']>('row', 'row itself'),
      reading: readings,
      size: fc.integer({ min: 2, max: 5 }),
    })
    await forAllTimesAsync(0.5, rows, minutes(9), async ({ before, reading, size }, at) => {
      fc.pre(at.length < 3 || at[0] !== at.at(-1))
      const stored = storedAt(at)
      const { messages } = await walk({ ...reading, before, cursor: 'id', largest: size }, stored)
      // If all messages of the first page have the same time, their order is a guess.
      expect(messages.map(({ id }) => id)).to.have.members(stored.map(({ id }) => id))
    })
  })

  it('returns every message if none has a time, or none has an ID', () =>
    forAllTimesAsync(0.5, readings, minutes(1), fc.boolean(), async (reading, at, hasTimes) => {
      const stored = storedAt(at).map(({ id, created_at, ...rest }) => ({
        ...rest,
        ...(hasTimes ? { created_at } : { id }),
      })) as StoredMessage[]
      const cursor = hasTimes ? 'created_at' : 'id'
      const before = hasTimes ? reading.before : reading.before === 'row' ? 'row' : 'row itself'
      fc.pre(hasTimes || stored.length > reading.largest || stored.length < 3)
      const { messages } = await walk({ ...reading, cursor, before }, stored)
      expect(messages).to.have.deep.members(stored)
    }))

  it('reports that messages may be missing if a full page has messages of one time', async () => {
    const stored = storedAt([0, 1, 1, 1, 1, 1, 1, 2])
    const { messages, unsure } = await walk({ ...plainReading, before: 'time', largest: 3 }, stored)
    expect(unsure).to.equal(true)
    expect(messages.map(({ id }) => id)).to.include.members(['m0', 'm6', 'm7'])
  })

  it('returns the history as it was when the reading began', async () => {
    const stored = storedAt(Array.from({ length: 30 }, (_, index) => index))
    const growing = historyService({ ...plainReading, before: 'row itself' }, stored)
    const began = stored.map(({ id }) => id)
    const { messages } = await walkScript({
      choose: (request, index) => {
        const behavior = growing.choose(request, index)
        stored.push({ ...(storedAt([40 + index])[0] as StoredMessage), id: `late${index}` })
        return behavior
      },
    })
    expect(messages.map(({ id }) => id)).to.deep.equal(began)
  })

  it('keeps messages without an ID that are equal', async () => {
    const twice = { content: 'ok', role: 'user', created_at: '2026-01-01T00:05:00Z' }
    const stored = [
      ...storedAt([0, 1, 2, 3]),
      twice,
      twice,
      ...storedAt([6, 7, 8, 9]).map((each) => ({ ...each, id: `n${each.id}` })),
    ]
    for (const before of ['row', 'time'] as const) {
      const { messages } = await walk({ ...plainReading, before, largest: 5 }, stored)
      expect(messages).to.deep.equal(stored)
    }
  })

  it('returns no message twice if pages overlap or a page repeats a message', async () => {
    const stored = storedAt([0, 1, 2, 3, 4, 5, 6, 7])
    const { messages } = await walkScript({
      choose: ({ path }) => {
        const before = new URL(path, 'http://x').searchParams.get('before')
        const end = before === null ? 8 : Math.min(8, stored.findIndex(({ id }) => id === before) + 2)
        const page = stored.slice(Math.max(0, end - 4), end)
        return json(200, { messages: [...page, page[0]], has_more: end > 4 })
      },
    })
    expect(messages).to.deep.equal(stored)
  })
})
