import { expect } from 'chai'
import fc from 'fast-check'
import { readReply } from '../../../src/service/replies/completion-stream.ts'
import { forAllAsync } from '../../support/for-all.ts'
import { delta, events } from './raw-responses.ts'

/** The body of a response. */
function bodyOf(parts: Uint8Array[]) {
  const rest = parts.values()
  return {
    headers: { 'content-type': 'text/event-stream' },
    read: async () => rest.next().value,
    cancel: () => {},
  }
}

async function read(parts: Uint8Array[]): Promise<{ text: string; reason: string | undefined }> {
  let text = ''
  let reason: string | undefined
  for await (const piece of readReply(bodyOf(parts), 'm1', []))
    if (piece.kind === 'delta') text += piece.text
    else if (piece.kind === 'finish') reason = piece.reason
  return { text, reason }
}

/** Splits bytes at some places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [...new Set([0, ...places.map((place) => place % bytes.length), bytes.length])].sort(
    (a, b) => a - b,
  )
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end))
}

describe('a stream of a model server', () => {
  it('gives the same text however its bytes are split, with any line endings', () =>
    forAllAsync(
      fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 8 }),
      fc.array(fc.nat(10_000), { maxLength: 40 }),
      fc.constantFrom('\n', '\r\n', '\r'),
      async (words, places, end) => {
        const lines = `: hello\n\n${events(...words.map((word) => delta(word)), delta('', 'length'), '[DONE]')}`
        const bytes = Buffer.from(lines.replaceAll('\n', end))
        expect(await read(cut(bytes, places))).to.deep.equal({ text: words.join(''), reason: 'length' })
      },
    ))

  it('gives text of one kind that arrives together as one part, also before an error', async () => {
    const reasoning = JSON.stringify({ choices: [{ index: 0, delta: { reasoning: 'Hm' } }] })
    const together = [reasoning, reasoning, delta('a'), delta('b'), delta('c')]
    const parts: string[] = []
    const body = bodyOf([Buffer.from(events(...together, 'not JSON'))])
    const reading = (async () => {
      for await (const part of readReply(body, 'm1', [])) parts.push('text' in part ? part.text : part.kind)
    })()
    expect((await reading.catch((error) => error)).code).to.equal('model_server_error')
    expect(parts).to.deep.equal(['HmHm', 'abc'])
  })

  it('is never accepted as complete if it was truncated before its end', () =>
    forAllAsync(fc.string({ minLength: 1 }), fc.nat(), async (word, place) => {
      const bytes = Buffer.from(events(delta(word), delta(word)))
      const short = bytes.subarray(0, place % bytes.length)
      const outcome = await read([short].filter(({ length }) => length > 0)).catch((error) => error)
      expect(outcome.code).to.equal('model_server_error')
    }))

  it('of arbitrary bytes results in a reply or in model_server_error', () =>
    forAllAsync(fc.array(fc.uint8Array({ minLength: 1 })), async (parts) => {
      const outcome = await read(parts).catch((error) => error)
      expect(outcome.code ?? outcome.reason).to.be.oneOf(['model_server_error', 'stop'])
    }))
})
