import { expect } from 'chai'
import fc from 'fast-check'
import { keysOf, MessageKeys } from '../../../src/client/history/message-keys.ts'
import { SeenMessages } from '../../../src/client/history/seen-messages.ts'
import type { HistoryMessage } from '../../../src/contract/resources/conversation.ts'
import { storedAt } from '../../support/history-service.ts'

type Page = readonly HistoryMessage[]

/** Reads pages as a walk does, which adds the messages that it finds nowhere. @returns what it found and added */
function readAll(seen: SeenMessages, pages: readonly Page[], onNew: (page: Page) => void = () => {}) {
  return pages.map((page) => {
    const parts = seen.find(page, 0)
    const added = parts.map((part, index) => part === undefined && seen.add(index, 0))
    if (added.includes(true)) onNew(page)
    return { parts, added }
  })
}

/** Reads pages without keys for as long as possible. */
function readInOrder(pages: readonly Page[]) {
  let loads = 0
  const read: Page[] = []
  const seen = new SeenMessages(() => {
    loads += 1
    const keys = new MessageKeys()
    for (const page of read.slice(0, -1)) {
      const pageKeys = keysOf(page)
      for (const index of page.keys()) keys.add(pageKeys, index, 0)
    }
    return keys
  })
  return { results: readAll(seen, pages, (page) => read.push(page)), loads: () => loads }
}

const few = (texts: string): fc.Arbitrary<string> => fc.constantFrom(...texts)

const message: fc.Arbitrary<HistoryMessage> = fc.record(
  {
    id: fc.oneof(
      { weight: 9, arbitrary: few('abcdefgh') },
      { weight: 3, arbitrary: fc.constant('') },
      fc.constant(7 as never),
    ),
    created_at: fc.oneof({ weight: 20, arbitrary: few('123456789') }, fc.constant(5 as never)),
    context_id: fc.oneof({ weight: 5, arbitrary: fc.constant('x') }, few('xy')),
    content: fc.constantFrom('yes', 'no'),
  },
  { requiredKeys: ['content', 'id', 'created_at'] },
)

/** Parts of a history in any order, most of them as a walk gets them. */
const pages: fc.Arbitrary<Page[]> = fc
  .record({
    history: fc.array(message, { minLength: 5, maxLength: 30 }),
    isSorted: fc.boolean(),
    isTurned: fc.boolean(),
    ranges: fc.array(fc.tuple(fc.nat(30), fc.integer({ min: 0, max: 6 })), { maxLength: 12 }),
  })
  .map(({ history, isSorted, isTurned, ranges }) => {
    const ordered = isSorted
      ? history.toSorted((one, other) => (String(one.created_at) < String(other.created_at) ? -1 : 1))
      : history
    const starts = isSorted ? ranges.toSorted(([one], [other]) => other - one) : ranges
    return starts.map(([start, size]) => {
      const page = ordered.slice(start, start + size)
      return isTurned ? page.toReversed() : page
    })
  })

describe('the messages that a walk has seen', () => {
  it('are the same with and without keys', () => {
    fc.assert(
      fc.property(pages, (all) => {
        expect(readInOrder(all).results).to.deep.equal(readAll(new SeenMessages(), all))
      }),
      { numRuns: 20 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('need no keys while each page is older, and repeats only messages of the last one', () => {
    const history = storedAt([0, 1, 2, 2, 3, 4, 5, 5, 6, 7]) as HistoryMessage[]
    const { results, loads } = readInOrder([history.slice(6), history.slice(3, 7), history.slice(0, 5)])
    expect(results.map(({ parts }) => parts)).to.deep.equal([
      [undefined, undefined, undefined, undefined],
      [undefined, undefined, undefined, 0],
      [undefined, undefined, undefined, 0, 0],
    ])
    expect(loads()).to.equal(0)
  })

  it('are compared by keys if a page is larger than any that the client asks for', () => {
    const history = storedAt(Array.from({ length: 1001 }, (_, index) => index)) as HistoryMessage[]
    expect(readInOrder([history.slice(1)]).loads()).to.equal(0)
    expect(readInOrder([history]).loads()).to.equal(1)
  })

  it('are loaded once, when a page repeats an older message', () => {
    const history = storedAt([0, 1, 2, 3, 4, 5]) as HistoryMessage[]
    const { results, loads } = readInOrder([history.slice(4), history.slice(2, 4), history, history])
    expect(results[2]?.parts).to.deep.equal([undefined, undefined, 0, 0, 0, 0])
    expect(results[3]?.parts).to.deep.equal([0, 0, 0, 0, 0, 0])
    expect(loads()).to.equal(1)
  })
})
