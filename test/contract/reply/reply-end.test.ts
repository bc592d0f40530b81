import { expect } from 'chai'
import fc from 'fast-check'
import { Assembly, readWholeReply } from '../../../src/contract/reply/assembly.ts'
import type { StreamEvent } from '../../../src/contract/resources/stream-event.ts'
import { endings, streamOf } from '../../support/reply-endings.ts'
import { endOf, run } from './assemble.ts'

const textOf = (events: StreamEvent[], kind: 'delta' | 'reasoning') =>
  events.map((event) => (event.type === kind ? event.text : '')).join('')

describe('the end of a reply', () => {
  for (const [name, ending] of Object.entries(endings)) {
    const { text, reasoning = '', end, tools, words, whole } = ending
    const failed = words !== undefined || end === 'truncated'

    it(`is ${end} after ${name}, however the bytes of the stream are split`, () => {
      const bytes = Buffer.from(streamOf(ending))
      fc.assert(
        fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (points) => {
          const at = [0, ...points.sort((a, b) => a - b), bytes.length]
          const chunks = at.slice(1).map((to, index) => bytes.subarray(at[index], to))
          const events = run('text/event-stream', chunks)
          const { failure, ...rest } = endOf(events)
          expect([textOf(events, 'delta'), textOf(events, 'reasoning')]).to.deep.equal([text, reasoning])
          expect([rest.text, rest.end, rest.tools, rest.complete]).to.deep.equal([text, end, tools, !failed])
          if (words !== undefined) expect(failure?.message).to.include(words)
        }),
        { numRuns: 20 },
      )
    })

    if (whole)
      it(`is ${end} after ${name}, in one piece`, () => {
        const reply = readWholeReply(whole)
        expect([reply.text, reply.reasoning, reply.end, reply.tools]).to.deep.equal([
          text,
          reasoning,
          end,
          tools,
        ])
        if (words !== undefined) expect(reply.failure?.message).to.include(words)
        const events = run('application/json', [Buffer.from(JSON.stringify(whole))])
        expect([endOf(events).text, endOf(events).end]).to.deep.equal([text, end])
      })
  }

  it('is waited for while bytes arrive after a reason, but not forever while they say nothing', () => {
    const finish = 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    for (const keepAlive of [': ping\n\n', 'event: ping\ndata: {}\n\n', '\n']) {
      const assembly = new Assembly({ contentType: 'text/event-stream' })
      const isHeard = (text: string) => {
        assembly.push(Buffer.from(text))
        return assembly.isHeard
      }
      expect(isHeard(keepAlive)).to.equal(false)
      expect(isHeard(finish)).to.equal(true)
      const heard = Array.from({ length: 20 }, () => isHeard(keepAlive))
      expect(heard.filter(Boolean).length).to.equal(12)
      expect([...'data: {"choices":[]}'].every(isHeard)).to.equal(true)
    }
  })

  for (const [what, body, end] of [
    [
      'a filter over a refusal',
      { choices: [{ message: { refusal: 'No' }, finish_reason: 'safety' }] },
      'filtered',
    ],
    ['an error over all others', { response: 'x', finish_reason: 'safety', error: 'Busy' }, 'failed'],
    ['an error beside a reply', { response: 'x', error: { message: 'Busy' } }, 'failed'],
    ['a reply beside an empty error', { response: 'x', error: {} }, 'complete'],
    ['a reply beside an error with code 0', { response: 'x', error: { code: 0, message: 'ok' } }, 'complete'],
    ['an error with code 0 without a reply', { error: { code: 0, message: 'Busy' } }, 'failed'],
    ['an error with only a type', { error: { type: 'overloaded' } }, 'failed'],
    ['the reply, not an echo', { response: 'x', message: { role: 'user', content: '' } }, 'complete'],
    [
      'the first word of a reason',
      { response: 'x', finish_reason: 'content_filter: RECITATION' },
      'filtered',
    ],
    ['what the service says', { response: 'x', finish_reason: 'stop', end: 'refusal' }, 'refusal'],
  ] as const)
    it(`is decided by ${what}`, () => {
      expect(readWholeReply(body).end).to.equal(end)
    })
})
