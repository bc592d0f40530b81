import { expect } from 'chai'
import fc from 'fast-check'
import { Assembly } from '../../../src/client/stream/assembly.ts'
import type { StreamEnd, StreamEvent } from '../../../src/contract/stream-event.ts'

const request = { method: 'POST', url: 'https://x.example/api/chat/send' }

function run(contentType: string, chunks: Uint8Array[], cut?: string): StreamEvent[] {
  const assembly = new Assembly({ contentType, status: 200, request })
  const events: StreamEvent[] = []
  for (const chunk of chunks) {
    if (assembly.ended === 'now') break
    events.push(...assembly.push(chunk))
  }
  events.push(...assembly.end(cut === undefined ? undefined : { reason: cut }))
  return events
}

function runText(contentType: string, text: string, cut?: string): StreamEvent[] {
  return run(contentType, [new TextEncoder().encode(text)], cut)
}

function endOf(events: StreamEvent[]): StreamEnd {
  const end = events.at(-1)
  if (end?.type !== 'end') throw new Error('the last event is not the end')
  return end
}

const sse = 'text/event-stream'
const answer = 'Grüße, 世界! 👋\n“Next” line\twith {"json": [1]} and data: inside'
const parts = ['Grü', 'ße, 世', '界! 👋\n“Ne', 'xt” line\twith {"js', 'on": [1]} and data: inside']
const grown = parts.map((_, index) => parts.slice(0, index + 1).join(''))
const events = (frames: unknown[], done = '[DONE]') =>
  `${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')}data: ${done}\n\n`
const lines = (frames: unknown[]) => frames.map((frame) => `${JSON.stringify(frame)}\n`).join('')
const choice = (content: string) => ({
  id: 'x1',
  model: 'm1',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
})
const finish = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: { total_tokens: 9 } }

/** Every form that a service may answer in: content type, body, and whether it says that it is finished. */
const forms: Record<string, { type: string; body: string; verified: boolean }> = {
  'SSE of chat.completion chunks': {
    type: sse,
    body: events([...parts.map(choice), finish]),
    verified: true,
  },
  'SSE of deltas': { type: sse, body: events(parts.map((delta) => ({ delta }))), verified: true },
  'SSE with named events': {
    type: sse,
    body: `: hello\n\nevent: start\ndata: {"context_id":"c1"}\n\n${parts.map((text) => `event: delta\ndata: ${JSON.stringify({ text })}\n\n`).join('')}event: ping\ndata: {}\n\nevent: done\ndata: ${JSON.stringify({ id: 'x1', response: answer })}\n\n`,
    verified: true,
  },
  'SSE of growing text': { type: sse, body: events(grown.map((response) => ({ response }))), verified: true },
  'SSE of JSON strings': { type: sse, body: events(parts), verified: true },
  'SSE of messages': {
    type: sse,
    body: events(parts.map((content) => ({ message: { content } }))),
    verified: true,
  },
  'SSE of bare text': {
    type: sse,
    body: parts
      .map(
        (part) =>
          `${part
            .split('\n')
            .map((line) => `data: ${line}\n`)
            .join('')}\n`,
      )
      .join(''),
    verified: false,
  },
  'SSE without a content type': { type: '', body: events(parts.map((delta) => ({ delta }))), verified: true },
  'SSE with a retry first, announced as text': {
    type: 'text/plain',
    body: `retry: 100\n\n${events(parts.map((text) => ({ text })))}`,
    verified: true,
  },
  'SSE whose last event is not terminated': {
    type: sse,
    body: events(parts.map((delta) => ({ delta }))).trimEnd(),
    verified: true,
  },
  'NDJSON that says done': {
    type: 'application/x-ndjson',
    body: lines([...parts.map((response) => ({ response, done: false })), { response: '', done: true }]),
    verified: true,
  },
  'NDJSON without a content type': {
    type: '',
    body: lines([...parts.map((delta) => ({ delta })), { type: 'done' }]),
    verified: true,
  },
  'NDJSON with a finish reason and no last line break': {
    type: 'application/jsonl',
    body: lines([...parts.map((content) => ({ content })), { finish_reason: 'stop' }]).trimEnd(),
    verified: true,
  },
  'NDJSON of strings': { type: 'application/x-ndjson', body: lines(parts), verified: false },
  'a JSON array': {
    type: 'application/json',
    body: JSON.stringify(
      parts.map((content) => ({ content })),
      null,
      2,
    ),
    verified: true,
  },
  'a JSON array without a content type': {
    type: '',
    body: JSON.stringify(parts.map((text) => ({ text }))),
    verified: true,
  },
  'RFC 7464': {
    type: 'application/json-seq',
    body: [...parts.map((delta) => ({ delta })), { done: true }]
      .map((frame) => `\u001e${JSON.stringify(frame)}\n`)
      .join(''),
    verified: true,
  },
  'RFC 7464 without a content type': {
    type: 'application/octet-stream',
    body: [...parts.map((delta) => ({ delta })), { done: true }]
      .map((frame) => `\u001e${JSON.stringify(frame)}\n`)
      .join(''),
    verified: true,
  },
  'one JSON body': {
    type: 'application/json',
    body: JSON.stringify({ id: 'x1', response: answer, context_id: 'c1', created_at: 't' }, null, 2),
    verified: true,
  },
  'one JSON body without a content type': {
    type: '',
    body: `  ${JSON.stringify({ response: answer })}`,
    verified: true,
  },
  'one completion': {
    type: 'application/json; charset=utf-8',
    body: JSON.stringify({
      choices: [{ message: { role: 'assistant', content: answer }, finish_reason: 'stop' }],
    }),
    verified: true,
  },
  'bare text': { type: 'text/plain; charset=utf-8', body: answer, verified: false },
  'bare text without a content type': { type: '', body: answer, verified: false },
}

describe('Assembly', () => {
  for (const [name, { type, body, verified }] of Object.entries(forms)) {
    // A line break inside the text of these is the text's own.
    const raw = name.startsWith('bare text')
    for (const [ending, text] of raw
      ? [['LF', body]]
      : [
          ['LF', body],
          ['CRLF', body.replaceAll('\n', '\r\n')],
        ]) {
      const bytes = new TextEncoder().encode(text)

      it(`reads ${name} with ${ending}, split at every point`, () => {
        for (let at = 0; at <= bytes.length; at++)
          expectAnswer(run(type, [bytes.subarray(0, at), bytes.subarray(at)]), verified)
      })

      it(`reads ${name} with ${ending}, split anyhow`, () => {
        const cuts = fc.array(fc.nat(bytes.length), { maxLength: 12 })
        fc.assert(
          fc.property(cuts, (points) => {
            const sorted = [0, ...points.sort((a, b) => a - b), bytes.length]
            const chunks = sorted.slice(1).map((to, index) => bytes.subarray(sorted[index], to))
            expectAnswer(run(type, chunks), verified)
          }),
          { numRuns: 60 },
        )
      })

      it(`reads ${name} with ${ending}, byte by byte`, () => {
        expectAnswer(
          run(
            type,
            Array.from(bytes, (byte) => Uint8Array.of(byte)),
          ),
          verified,
        )
      })
    }

    // Before its first data, nothing tells this one from a text.
    if (name.includes('announced as text')) continue

    it(`keeps what came of ${name} when it is cut off anywhere`, () => {
      const bytes = new TextEncoder().encode(body)
      for (let length = 0; length < bytes.length; length += 7) {
        const { complete, text, failure } = endOf(run(type, [bytes.subarray(0, length)], 'connection reset'))
        expect(answer.startsWith(text), `${length}: ${text}`).to.equal(true)
        if (!complete) expect(failure?.kind).to.be.oneOf(['truncated', 'unusable_answer'])
        if (complete) expect(text).to.equal(answer)
      }
    })
  }

  function expectAnswer(events: StreamEvent[], verified: boolean): void {
    const types = events.map((event) => event.type)
    expect(types[0]).to.equal('start')
    expect(types.lastIndexOf('start')).to.equal(0)
    expect(types.indexOf('end')).to.equal(types.length - 1)
    const end = endOf(events)
    const text = events.map((event) => (event.type === 'delta' ? event.text : '')).join('')
    expect({
      text,
      ended: end.text,
      complete: end.complete,
      verified: end.verified,
      reason: end.reason,
    }).to.deep.equal({
      text: answer,
      ended: answer,
      complete: true,
      verified,
      reason: undefined,
    })
  }

  it('picks up ids, model, usage and the finish reason from any frame', () => {
    const frames = [
      { context_id: 'c1', model: 'm1', delta: 'a' },
      { id: 'x1', usage: { total_tokens: 3 } },
      { finish_reason: 'length' },
    ]
    expect(runText(sse, events(frames))).to.deep.equal([
      { type: 'start', contextId: 'c1', model: 'm1' },
      { type: 'delta', text: 'a' },
      { type: 'usage', usage: { total_tokens: 3 } },
      {
        type: 'end',
        complete: true,
        verified: true,
        contextId: 'c1',
        id: 'x1',
        finishReason: 'length',
        text: 'a',
      },
    ])
  })

  for (const type of ['text/plain', 'application/x-ndjson']) {
    it(`reads one long value as ${type} in time that grows with its length alone`, () => {
      const text = 'x'.repeat(8 * 1024 * 1024)
      const bytes = new TextEncoder().encode(JSON.stringify({ response: text }))
      const chunks: Uint8Array[] = []
      for (let at = 0; at < bytes.length; at += 4096) chunks.push(bytes.subarray(at, at + 4096))
      const started = Date.now()
      const end = endOf(run(type, chunks))
      // In the square of it, this took 6 s and more.
      expect(Date.now() - started).to.be.below(3000)
      expect(end.complete && end.text === text).to.equal(true)
    })
  }

  it('tells a long text from JSON by its beginning, whatever it is split into', () => {
    const long = 'x'.repeat(100_000)
    for (const text of [`"${long}" she said, and left.`, `{ ${long} }`, `"${long}`]) {
      const bytes = new TextEncoder().encode(text)
      for (const at of [1, 60_000, 65_536, 70_000, 100_001, 100_002]) {
        const end = endOf(run('text/plain', [bytes.subarray(0, at), bytes.subarray(at)]))
        expect(end.complete && end.text === text, `${text.slice(0, 3)} ${at}`).to.equal(true)
      }
    }
  })

  it('cuts a usage that is nested too deep to be shown', () => {
    const deep = '['.repeat(30_000) + ']'.repeat(30_000)
    const frames = `data: {"delta":"a"}\n\ndata: {"usage":{"total_tokens":9,"x":${deep}}}\n\ndata: [DONE]\n\n`
    const usage = runText(sse, frames).find((event) => event.type === 'usage')?.usage
    expect(usage).to.have.property('total_tokens', 9)
    expect(JSON.stringify(usage)).to.include('nested too deep')
  })

  it('gives text out as soon as it comes', () => {
    const assembly = new Assembly({ contentType: '', status: 200, request })
    const text = (events: StreamEvent[]) =>
      events.map((event) => (event.type === 'delta' ? event.text : '')).join('')
    expect(text(assembly.push(new TextEncoder().encode('Hi')))).to.equal('Hi')
    expect(text(assembly.push(new TextEncoder().encode(' there')))).to.equal(' there')
  })

  it('gives a text that only looks like something else out as text', () => {
    for (const text of [
      '{ is a brace',
      '[1] first',
      '"Hi," she said.',
      'data',
      'event: tonight',
      ': )',
      '{"a":1} is JSON?',
      '42',
      'null',
      'id: 7\nname: x',
    ]) {
      const end = endOf(runText('text/plain', text))
      expect(end.text, text).to.equal(text)
    }
  })

  it('keeps bare SSE text verbatim, numbers and quotes included', () => {
    const end = endOf(runText(sse, 'data: Say\n\ndata:  42\n\ndata:  "x"\n\ndata: null\n\n'))
    expect(end).to.include({ text: 'Say 42 "x"null', complete: true, verified: false })
  })

  const cutOff: [string, string, string, string?][] = [
    ['SSE of JSON that stops without a marker', sse, 'data: {"delta":"Hel"}\n\ndata: {"delta":"lo"}\n\n'],
    ['SSE that stops in the middle of a frame', sse, 'data: {"delta":"Hello"}\n\ndata: {"del'],
    ['SSE that stops in the middle of the marker', sse, 'data: {"delta":"Hello"}\n\ndata: [DO'],
    ['NDJSON that stops without a marker', 'application/x-ndjson', '{"text":"Hel"}\n{"text":"lo"}\n'],
    ['NDJSON that stops after one line of several', 'application/x-ndjson', '{"text":"Hello"}\n'],
    ['NDJSON that says that more will come', '', '{"response":"Hello","done":false}\n'],
    ['a JSON array that is not closed', 'application/json', '[{"text":"Hel"},{"text":"lo"}'],
    [
      'an RFC 7464 record that is cut off',
      'application/json-seq',
      '\u001e{"text":"Hel"}\n\u001e{"text":"lo"}\n\u001e{"don',
    ],
    ['bare text after a reset', 'text/plain', 'Hello', 'connection reset'],
    ['bare SSE text after a reset', sse, 'data: Hello\n\n', 'connection reset'],
    ['a JSON array of strings after a reset', 'application/json', '["Hel","lo"', 'connection reset'],
  ]
  for (const [what, type, body, cut] of cutOff) {
    it(`calls ${what} truncated, and keeps the text`, () => {
      const end = endOf(runText(type, body, cut))
      expect(end).to.include({ text: 'Hello', complete: false, verified: false })
      expect(end.failure?.kind).to.equal('truncated')
      expect(end.reason).to.be.a('string')
    })
  }

  it('takes a reset after the marker for the end that it is', () => {
    expect(endOf(runText(sse, events([choice('Hi'), finish]), 'connection reset')).complete).to.equal(true)
  })

  const errors: [string, string, string, string][] = [
    [
      'an error frame',
      sse,
      'data: {"delta":"Hi"}\n\ndata: {"error":{"code":"overloaded","message":"Busy"}}\n\n',
      'overloaded',
    ],
    [
      'an error event',
      sse,
      'data: {"delta":"Hi"}\n\nevent: error\ndata: {"code":"overloaded","message":"Busy"}\n\n',
      'overloaded',
    ],
    ['an error event of bare text', sse, 'data: Hi\n\nevent: error\ndata: Busy\n\n', 'server_error'],
    ['an error line', 'application/x-ndjson', '{"delta":"Hi"}\n{"error":"Busy"}\n', 'server_error'],
    [
      'an error in the place of the answer',
      'application/json',
      '{"error":{"message":"Busy"}}',
      'server_error',
    ],
  ]
  for (const [what, type, body, code] of errors) {
    it(`ends with ${what}`, () => {
      const end = endOf(runText(type, body))
      expect(end).to.include({ complete: false, verified: false, reason: 'Busy' })
      expect(end.failure).to.include({ kind: 'server_error', code, message: 'Busy' })
      if (type !== 'application/json') expect(end.text).to.equal('Hi')
    })
  }

  const useless: [string, string, string][] = [
    ['nothing', 'text/plain', ''],
    ['no events', sse, ''],
    ['a web page', 'text/html', '<!doctype html><p>Sign in</p>'],
    ['a JSON body without a text', 'application/json', '{"ok":true}'],
    ['noise announced as JSON', 'application/json', '<<<'],
  ]
  for (const [what, type, body] of useless) {
    it(`cannot use ${what}`, () => {
      const end = endOf(runText(type, body))
      expect(end).to.include({ complete: false, text: '' })
      expect(end.failure?.kind).to.equal('unusable_answer')
    })
  }

  it('says nothing that is not there when the model said nothing', () => {
    expect(endOf(runText(sse, events([finish])))).to.include({ complete: true, verified: true, text: '' })
  })
})
