import { expect } from 'chai'
import fc from 'fast-check'
import { Assembly, readWholeReply } from '../../../src/contract/reply/assembly.ts'
import type { StreamEvent } from '../../../src/contract/resources/stream-event.ts'
import { forAll } from '../../support/for-all.ts'
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
      expect(Array.from({ length: 20 }, () => isHeard(keepAlive)).filter(Boolean).length).to.equal(12)
      expect([...'data: {"choices":[]}'].every(isHeard)).to.equal(true)
    }
  })

  for (const [what, body, end] of [
    [
      'a filter, not a refusal',
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
    it(`is decided by ${what}`, () => expect(readWholeReply(body).end).to.equal(end))
})

const sse = 'text/event-stream'
const ndjson = 'application/x-ndjson'
const encoder = new TextEncoder()

const read = (type: string, body: string, cut?: string) => run(type, [encoder.encode(body)], cut)
const thought = ['Grü', 'ße: "world"?\n', 'I’ll say', ' 世界 👋']
const parts = ['Hello', ', ', '世界! 👋']
const [thinking, answer] = [thought.join(''), parts.join('')]
const data = (frames: unknown[]) => frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')
/** The same as events with a name. */
const named = (name: string, frames: unknown[]) => data(frames).replaceAll(/^data: /gm, `event: ${name}\n$&`)
const lines = (frames: unknown[]) => frames.map((frame) => `${JSON.stringify(frame)}\n`).join('')
const chunk = (delta: object, finish_reason: string | null = null) => ({
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
})
const done = 'data: [DONE]\n\n'
const openAi = (field: string) => [
  chunk({ role: 'assistant', content: '' }),
  ...thought.map((text) => chunk({ content: null, [field]: text })),
  ...parts.map((content) => chunk({ content })),
  chunk({}, 'stop'),
]

const texts = (name: string, all: string[]) =>
  named(
    name,
    Array.from(all, (text) => ({ text })),
  )
const deltas = named(
  'delta',
  Array.from(parts, (delta) => ({ delta })),
)

/** Streams of services that send reasoning: content type and body. */
const forms: Record<string, [string, string]> = {
  'SSE with events named reasoning, as the embedded service sends it': [
    sse,
    named(
      'reasoning',
      Array.from(thought, (reasoning) => ({ context_id: 'c1', reasoning })),
    ) +
      deltas +
      named('done', [{ response: answer }]),
  ],
  'SSE with events named reasoning whose field is text': [
    sse,
    texts('reasoning', thought) + texts('delta', parts) + done,
  ],
  'SSE of chunks with reasoning_content': [sse, data(openAi('reasoning_content')) + done],
  'SSE of chunks with reasoning': [sse, data(openAi('reasoning')) + done],
  'SSE of chunks with both fields': [
    sse,
    data([
      ...thought.map((text) => chunk({ reasoning: text, reasoning_content: text })),
      ...parts.map((content) => chunk({ content, reasoning: null })),
      chunk({}, 'stop'),
    ]),
  ],
  'SSE with typed frames': [
    sse,
    data([
      ...thought.map((text) => ({ type: 'reasoning', text })),
      ...parts.map((text) => ({ type: 'text', text })),
      { type: 'done' },
    ]),
  ],
  'SSE in the syntax of the Responses API': [
    sse,
    [
      ...thought.map((delta) => ({ type: 'response.reasoning_text.delta', delta })),
      { type: 'response.reasoning_text.done', text: thinking },
      ...parts.map((delta) => ({ type: 'response.output_text.delta', delta })),
      { type: 'response.output_text.done', text: answer },
      { type: 'response.completed', response: { id: 'r1' } },
    ]
      .map((frame) => named(frame.type, [frame]))
      .join(''),
  ],
  'SSE in the syntax of Anthropic': [
    sse,
    named('content_block_delta', [
      ...thought.map((text) => ({ delta: { type: 'thinking_delta', thinking: text } })),
      ...parts.map((text) => ({ delta: { type: 'text_delta', text } })),
    ]) + named('message_stop', [{}]),
  ],
  'SSE of deltas with fields at the top level': [
    sse,
    data([
      ...thought.map((reasoning_content) => ({ reasoning_content })),
      ...parts.map((delta) => ({ delta })),
    ]) + done,
  ],
  'NDJSON in the syntax of Ollama': [
    ndjson,
    lines([
      ...thought.map((text) => ({ message: { content: '', thinking: text }, done: false })),
      ...parts.map((content) => ({ message: { content }, done: false })),
      { message: { content: '' }, done: true, done_reason: 'stop' },
    ]),
  ],
  'one completion': [
    'application/json',
    JSON.stringify({
      choices: [{ message: { content: answer, reasoning_content: thinking }, finish_reason: 'stop' }],
    }),
  ],
  'one body': ['application/json', JSON.stringify({ response: answer, reasoning: thinking })],
}

describe('a streamed reply with reasoning', () => {
  for (const [name, [type, body]] of Object.entries(forms)) {
    const bytes = encoder.encode(body)
    const whole = run(type, [bytes])

    it(`of ${name} keeps the reasoning apart from the text, and before it`, () => {
      expect(textOf(whole, 'reasoning')).to.equal(thinking)
      expect(textOf(whole, 'delta')).to.equal(answer)
      expect(endOf(whole)).to.include({ text: answer, complete: true, verified: true })
      const types = whole.map((event) => event.type)
      expect(types[0]).to.equal('start')
      expect(types.lastIndexOf('reasoning')).to.be.lessThan(types.indexOf('delta'))
    })

    it(`of ${name} gives the same events, split into any chunks`, () =>
      forAll(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (points) => {
        const sorted = [0, ...points.sort((a, b) => a - b), bytes.length]
        const chunks = sorted.slice(1).map((to, index) => bytes.subarray(sorted[index], to))
        expect(run(type, chunks)).to.deep.equal(whole)
      }))
  }

  it('of plain SSE text is read if its events have a name', () => {
    const body = `event: thinking\ndata: Let me see.\n\nevent: token\ndata: Hello\n\nevent: done\ndata:\n\n`
    const events = read(sse, body)
    expect(textOf(events, 'reasoning')).to.equal('Let me see.')
    expect(endOf(events)).to.include({ text: 'Hello', complete: true })
  })

  it('is complete and empty if the model sends only reasoning', () => {
    const events = read(sse, data([chunk({ reasoning: 'Hm' }), chunk({}, 'length')]) + done)
    expect(textOf(events, 'reasoning')).to.equal('Hm')
    expect(endOf(events)).to.include({ text: '', complete: true, finishReason: 'length' })
  })

  it('is truncated if it is interrupted while the model is thinking', () => {
    const events = read(sse, data([chunk({ reasoning: 'Hm' })]), 'connection reset')
    expect(textOf(events, 'reasoning')).to.equal('Hm')
    expect(endOf(events)).to.include({ text: '', complete: false, reason: 'connection reset' })
    expect(endOf(events).failure?.kind).to.equal('truncated')
  })

  it('may return to reasoning after a part of the text', () => {
    const deltas = [{ reasoning: 'One' }, { content: 'a' }, { reasoning: 'two' }, { content: 'b' }]
    const events = read(sse, data([...deltas.map((delta) => chunk(delta)), chunk({}, 'stop')]))
    expect(events.slice(1, -1)).to.deep.equal([
      { type: 'reasoning', text: 'One' },
      { type: 'delta', text: 'a' },
      { type: 'reasoning', text: 'two' },
      { type: 'delta', text: 'b' },
    ])
  })

  it('keeps a piece of reasoning and a piece of text from the same frame', () => {
    const events = read(sse, data([chunk({ reasoning: 'Hm', content: 'Hi' }), chunk({}, 'stop')]))
    expect(events.slice(1, -1)).to.deep.equal([
      { type: 'reasoning', text: 'Hm' },
      { type: 'delta', text: 'Hi' },
    ])
  })

  for (const text of [
    '<think>Hm</think>Hi',
    '{"reasoning": "Hm", "answer": 42}',
    '{"reasoning": "Hm"}',
    '{"reasoning": "Hm", "answer": 42}\n{"reasoning": "Hm", "answer": 43}\n',
    '{"thinking": "Hm", "answer": 42}\nThat is all.',
  ])
    it(`does not take the text ${JSON.stringify(text)} for reasoning`, () => {
      for (const type of ['text/plain', '']) {
        const events = read(type, text)
        expect(textOf(events, 'reasoning')).to.equal('')
        expect(endOf(events)).to.include({ text, complete: true })
      }
      const wrapped = read(sse, data([{ delta: text }]) + done)
      expect(textOf(wrapped, 'reasoning')).to.equal('')
      expect(endOf(wrapped).text).to.equal(text)
    })

  it('ignores a reasoning field that is not text', () => {
    const frames = [{ reasoning: true }, { reasoning_content: { text: 'Hm' } }, { reasoning: null }].map(
      (extra) => chunk({ content: 'a', ...extra }),
    )
    const events = read(sse, data([...frames, chunk({}, 'stop')]))
    expect(textOf(events, 'reasoning')).to.equal('')
    expect(endOf(events).text).to.equal('aaa')
  })
})
