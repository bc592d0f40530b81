import { expect } from 'chai'
import fc from 'fast-check'
import { Assembly } from '../../../src/contract/reply/assembly.ts'
import type { StreamEvent, StreamFormat } from '../../../src/contract/resources/stream-event.ts'
import { someCells } from '../../support/cells.ts'
import { forAllTimes } from '../../support/for-all.ts'
import { endOf, request, run } from './assemble.ts'

function runText(contentType: string, text: string, cut?: string): StreamEvent[] {
  return run(contentType, [new TextEncoder().encode(text)], cut)
}

const sse = 'text/event-stream'
const answer = 'Grüße, 世界! 👋\n“Next” line\twith {"json": [1]} and data: inside'
const parts = ['Grü', 'ße, 世', '界! 👋\n“Ne', 'xt” line\twith {"js', 'on": [1]} and data: inside']
const events = (frames: unknown[], done = '[DONE]') =>
  `${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')}data: ${done}\n\n`
const lines = (frames: unknown[]) => frames.map((frame) => `${JSON.stringify(frame)}\n`).join('')
const choice = (content: string) => ({
  id: 'x1',
  model: 'm1',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
})
const finish = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: { total_tokens: 9 } }

/** Every kind of streamed response: its content type, its body, and whether it does not mark its end. */
const forms: Record<string, { type: string; body: string; isUnmarked?: true }> = {
  'SSE of chat.completion chunks': { type: sse, body: events([...parts.map(choice), finish]) },
  'SSE of deltas': { type: sse, body: events(parts.map((delta) => ({ delta }))) },
  'SSE with named events': {
    type: sse,
    body: `: hello\n\nevent: start\ndata: {"context_id":"c1"}\n\n${parts.map((text) => `event: delta\ndata: ${JSON.stringify({ text })}\n\n`).join('')}event: ping\ndata: {}\n\nevent: done\ndata: ${JSON.stringify({ id: 'x1', response: answer })}\n\n`,
  },
  'SSE of JSON strings': { type: sse, body: events(parts) },
  'SSE of messages': { type: sse, body: events(parts.map((content) => ({ message: { content } }))) },
  'SSE of bare text': {
    type: sse,
    body: parts.map((part) => `${part.replaceAll(/^/gm, 'data: ')}\n\n`).join(''),
    isUnmarked: true,
  },
  'SSE without a content type': { type: '', body: events(parts.map((delta) => ({ delta }))) },
  'SSE with a retry first, declared as text': {
    type: 'text/plain',
    body: `retry: 100\n\n${events(parts.map((text) => ({ text })))}`,
  },
  'SSE whose last event is not terminated': {
    type: sse,
    body: events(parts.map((delta) => ({ delta }))).trimEnd(),
  },
  'NDJSON that says done': {
    type: 'application/x-ndjson',
    body: lines([...parts.map((response) => ({ response, done: false })), { response: '', done: true }]),
  },
  'NDJSON without a content type': {
    type: '',
    body: lines([...parts.map((delta) => ({ delta })), { type: 'done' }]),
  },
  'NDJSON with a finish reason and no last line break': {
    type: 'application/jsonl',
    body: lines([...parts.map((content) => ({ content })), { finish_reason: 'stop' }]).trimEnd(),
  },
  'NDJSON of strings': { type: 'application/x-ndjson', body: lines(parts), isUnmarked: true },
  'SSE with a byte order mark, no space after the colon': {
    type: sse,
    body: `\ufeff${events(parts.map((delta) => ({ delta }))).replaceAll(/^data: /gm, 'data:')}`,
  },
  'SSE with a byte order mark, declared as text': {
    type: 'text/plain',
    body: `\ufeff${events(parts.map((delta) => ({ delta })))}`,
  },
  'SSE whose data spans several lines': {
    type: sse,
    body: `${parts.map((delta) => `data: {\ndata:  "delta":\ndata: ${JSON.stringify(delta)}}\nid: 7\nretry: 10\n\n`).join('')}data: [DONE]\n\n`,
  },
  'SSE of bare text after one of JSON': {
    type: sse,
    body: `event: start\ndata: {"context_id":"c1"}\n\n${parts
      .map((part) => `event: token\n${part.replaceAll(/^/gm, 'data: ')}\n\n`)
      .join('')}event: done\ndata:\n\n`,
  },
  'SSE in the syntax of Anthropic': {
    type: sse,
    body: `event: message_start\ndata: {"type":"message_start","message":{"id":"m1","model":"m","content":[]}}\n\n${parts
      .map(
        (text) =>
          `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', delta: { type: 'text_delta', text } })}\n\n`,
      )
      .join(
        '',
      )}event: message_delta\ndata: {"delta":{"stop_reason":"end_turn"}}\n\nevent: message_stop\ndata: {}\n\n`,
  },
  'SSE in the syntax of the Responses API': {
    type: sse,
    body: `${[...parts.map((delta) => ({ type: 'response.output_text.delta', delta })), { type: 'response.output_text.done', text: answer }, { type: 'response.completed', response: { id: 'r1' } }].map((frame) => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`).join('')}`,
  },
  'NDJSON with the end marker of SSE': {
    type: 'application/x-ndjson',
    body: `${lines(parts.map((delta) => ({ delta })))}[DONE]\n`,
  },
  'NDJSON in the syntax of Ollama': {
    type: 'application/x-ndjson',
    body: lines([
      ...parts.map((content) => ({ message: { role: 'assistant', content }, done: false })),
      { message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop' },
    ]),
  },
  'one JSON body': {
    type: 'application/json',
    body: JSON.stringify({ id: 'x1', response: answer, context_id: 'c1', created_at: 't' }, null, 2),
  },
  'one JSON body without a content type': { type: '', body: `  ${JSON.stringify({ response: answer })}` },
  'one completion': {
    type: 'application/json; charset=utf-8',
    body: JSON.stringify({
      choices: [{ message: { role: 'assistant', content: answer }, finish_reason: 'stop' }],
    }),
  },
  'bare text': { type: 'text/plain; charset=utf-8', body: answer, isUnmarked: true },
  'bare text without a content type': { type: '', body: answer, isUnmarked: true },
}

describe('a streamed reply', () => {
  for (const [name, { type, body, isUnmarked }] of Object.entries(forms)) {
    const verified = isUnmarked !== true
    // In these, a line break belongs to the text.
    const raw = name.startsWith('bare text')
    for (const [ending, text] of raw
      ? [['LF', body]]
      : [
          ['LF', body],
          ['CRLF', body.replaceAll('\n', '\r\n')],
          ...(name.startsWith('SSE') ? [['CR', body.replaceAll('\n', '\r')] as const] : []),
        ]) {
      const bytes = new TextEncoder().encode(text)

      it(`of ${name} with ${ending} is read byte by byte, and split into any chunks`, () => {
        expectReply(
          run(
            type,
            Array.from(bytes, (byte) => Uint8Array.of(byte)),
          ),
          verified,
        )
        const cuts = fc.array(fc.nat(bytes.length), { maxLength: 12 })
        forAllTimes(0.3, cuts, (points) => {
          const sorted = [0, ...points.sort((a, b) => a - b), bytes.length]
          const chunks = sorted.slice(1).map((to, index) => bytes.subarray(sorted[index], to))
          expectReply(run(type, chunks), verified)
        })
      })
    }

    // Before its first data, such a reply cannot be distinguished from text.
    if (name.includes('declared as text')) continue

    it(`of ${name} keeps the text that arrived before an interruption`, () => {
      const bytes = new TextEncoder().encode(body)
      for (let length = 0; length < bytes.length; length += 7) {
        const { complete, text, failure } = endOf(run(type, [bytes.subarray(0, length)], 'connection reset'))
        expect(answer.startsWith(text), `${length}: ${text}`).to.equal(true)
        if (!complete) expect(failure?.kind).to.be.oneOf(['truncated', 'invalid_response'])
        if (complete) expect(text).to.equal(answer)
      }
    })
  }

  function expectReply(events: StreamEvent[], verified: boolean): void {
    const types = events.map((event) => event.type)
    expect(types[0]).to.equal('start')
    expect(types.lastIndexOf('start')).to.equal(0)
    expect(types.indexOf('end')).to.equal(types.length - 1)
    const end = endOf(events)
    const text = events.map((event) => (event.type === 'delta' ? event.text : '')).join('')
    expect([text, end.text]).to.deep.equal([answer, answer])
    expect(end).to.include({ complete: true, verified }).and.not.to.have.property('reason')
  }

  it('may carry IDs, model, usage, and the finish reason in any frame', () => {
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
        end: 'length',
        complete: true,
        verified: true,
        contextId: 'c1',
        id: 'x1',
        model: 'm1',
        usage: { total_tokens: 3 },
        finishReason: 'length',
        text: 'a',
      },
    ])
  })

  const types = ['application/json', 'application/x-ndjson']
  for (const type of someCells(types, (_, index) => index === 0))
    it(`of one long value as ${type} is read in linear time`, () => {
      // In quadratic time this exceeds the timeout of the test.

      const text = 'x'.repeat(24 * 1024 * 1024)
      const bytes = new TextEncoder().encode(JSON.stringify({ response: text }))
      const chunks: Uint8Array[] = []
      for (let at = 0; at < bytes.length; at += 4096) chunks.push(bytes.subarray(at, at + 4096))
      const end = endOf(run(type, chunks))
      expect(end.complete && end.text === text).to.equal(true)
    })

  it('is passed on as soon as text arrives', () => {
    const assembly = new Assembly({ contentType: '', status: 200, request })
    const text = (events: StreamEvent[]) =>
      events.map((event) => (event.type === 'delta' ? event.text : '')).join('')
    expect(text(assembly.push(new TextEncoder().encode('Hi')))).to.equal('Hi')
    expect(text(assembly.push(new TextEncoder().encode(' there')))).to.equal(' there')
  })

  it('that only resembles another notation is text', () => {
    for (const text of [
      '{ is a brace',
      '[1] first',
      '"Hi," she said.',
      'data',
      'event: tonight',
      ': )',
      '{"a":1} is JSON?',
      'null',
      'id: 7\nname: x',
      '{"name":"Ada","age":3}',
      '{"id":7,"name":"Ada"}',
      '[{"name":"Ada"},{"name":"Bob"}]',
      '{"name":"Ada"}\n{"name":"Bob"}\n',
    ])
      expect(endOf(runText('text/plain', text)).text, text).to.equal(text)
  })

  it('declared as HTML is text, unless it begins with a tag', () => {
    expect(endOf(runText('text/html; charset=utf-8', 'Hello'))).to.include({ text: 'Hello', complete: true })
    expect(endOf(runText('text/html', ' <p>Sign in</p>')).failure?.kind).to.equal('invalid_response')
  })

  it('does not include keep-alive events', () => {
    const body = `event: ping\ndata: {}\n\ndata: {"delta":"Hel"}\n\ndata: ping\n\n${events([{ delta: 'lo' }])}`
    expect(endOf(runText(sse, body))).to.include({ text: 'Hello', complete: true })
  })

  it('is read in the notation that the user selects', () => {
    const say = (format: StreamFormat, body: string, contentType = 'text/html') => {
      const assembly = new Assembly({ contentType, format, status: 200, request })
      return endOf([...assembly.push(new TextEncoder().encode(body)), ...assembly.end()])
    }
    expect(say('text', 'data: {"delta":"a"}\n\n', sse).text).to.equal('data: {"delta":"a"}\n\n')
    expect(say('text', '{"response":"a"}', 'application/json').text).to.equal('{"response":"a"}')
    expect(say('sse', 'data: {"delta":"a"}\n\ndata: [DONE]\n\n')).to.include({ text: 'a', complete: true })
    expect(say('ndjson', '{"text":"a"}', 'application/json')).to.include({ text: 'a', complete: false })
    expect(say('json', '{"text":"a"}', 'application/x-ndjson')).to.include({ text: 'a', complete: true })
    expect(say('auto', '{"text":"a"}', 'application/json')).to.include({ text: 'a', complete: true })
    expect(say('json', '<p>').complete).to.equal(false)
  })

  it('may have equal pieces before an empty last frame', () => {
    const body = lines([{ response: '1' }, { response: '1' }, { response: '', done: true }])
    expect(endOf(runText('application/x-ndjson', body))).to.include({ text: '11', complete: true })
  })

  it('contains the first choice if the service returns several', () => {
    const at = (index: number, content: string, more = {}) => ({
      choices: [{ index, delta: { content }, ...more }],
    })
    const frames = [
      at(0, 'Hel'),
      at(1, 'Bye', { finish_reason: 'stop' }),
      at(0, 'lo', { finish_reason: 'length' }),
    ]
    expect(endOf(runText(sse, events(frames)))).to.include({ text: 'Hello', finishReason: 'length' })
  })

  it('is truncated if a frame in the middle is invalid, also if it marks its end', () => {
    const body = '{"delta":"Hel"}\n{"delta":NaN}\n{"delta":"lo"}\n{"done":true}\n'
    const end = endOf(runText('application/x-ndjson', body))
    expect(end).to.include({ text: 'Hello', complete: false })
    expect(end.failure?.kind).to.equal('truncated')
  })

  const whole = ['one ', 'two ', 'three']
  const streams = [
    [sse, events(whole.map((response) => ({ response })))],
    [sse, events(whole.map((delta) => ({ delta, model: 'm' })))],
    ['application/x-ndjson', lines([...whole.map((delta) => ({ delta })), { done: true }])],
  ] as const

  for (const [index, [type, body]] of streams.entries())
    it(`is truncated if a frame is replaced by other data, or damaged at its brace: ${index}`, () => {
      const separator = body.includes('\n\n') ? '\n\n' : '\n'
      const frames = body.trimEnd().split(separator)
      for (let at = 0; at < 3; at++)
        for (const other of ['<html>502</html>', '{"response":"two"', frames[at]?.replace('{', '') ?? '']) {
          const data = separator === '\n' || other.startsWith('data:') ? other : `data: ${other}`
          const end = endOf(runText(type, [...frames.with(at, data), ''].join(separator)))
          // Text before the first frame of JSON is part of a reply in plain text.
          if (at > 0 || separator === '\n') expect(end.complete, `${at} ${data}`).to.equal(false)
        }
    })

  it('with invalid UTF-8 is truncated, split at any point', () => {
    const bytes = Buffer.from('H\xefllo \xff\xef\xbf\xbd \xe2\x82\xac\xe2', 'latin1')
    for (let at = 0; at <= bytes.length; at++) {
      const end = endOf(run('text/plain', [bytes.subarray(0, at), bytes.subarray(at)]))
      expect(end).to.include({ complete: false, text: 'H\ufffdllo \ufffd\ufffd €\ufffd' })
      expect(end.reason).to.include('not valid UTF-8')
      const valid = bytes.subarray(7, -1)
      expect(endOf(run('text/plain', [valid.subarray(0, at), valid.subarray(at)])).complete).to.equal(true)
    }
  })

  it('of plain SSE text is kept verbatim, including numbers and quotation marks', () => {
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
    ['bare text after a reset', 'text/plain', 'Hello', 'connection reset'],
    ['bare SSE text after a reset', sse, 'data: Hello\n\n', 'connection reset'],
  ]
  for (const [what, type, body, cut] of cutOff)
    it(`of ${what} is truncated, and keeps its text`, () => {
      const end = endOf(runText(type, body, cut))
      expect(end).to.include({ text: 'Hello', complete: false, verified: false })
      expect(end.failure?.kind).to.equal('truncated')
      expect(end.reason).to.be.a('string')
    })

  it('is complete if the connection is reset after the end marker', () =>
    expect(endOf(runText(sse, events([choice('Hi'), finish]), 'connection reset')).complete).to.equal(true))

  it('is complete if a reset truncates an event after the finish reason', () => {
    const body = events([choice('Hi'), finish], '{"usa').trimEnd()
    for (const text of [body, `${body}\n\n`, events([choice('Hi'), finish], 'DONE')])
      expect(endOf(runText(sse, text, 'connection reset'))).to.include({ text: 'Hi', complete: true })
  })

  it('is truncated if an unreadable frame is between texts that each have a finish reason', () => {
    const last = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] }
    const body = `${events([last], 'DONE')}${events([last])}`
    expect(endOf(runText(sse, body))).to.include({ text: 'HiHi', end: 'truncated' })
  })

  it('in text with a line that is no field is truncated', () => {
    for (const body of ['data: Hi\nthere\n\n', 'there\ndata: Hi\n\ndata: you\n\n'])
      expect(endOf(runText(sse, body)).end, body).to.equal('truncated')
  })

  const hi = 'data: {"delta":"Hi"}\n\n'
  const busy = '{"code":"overloaded","message":"Busy"}'
  const errors: [string, string, string, string][] = [
    ['an error frame', sse, `${hi}data: {"error":${busy}}\n\n`, 'overloaded'],
    ['an error event', sse, `${hi}event: error\ndata: ${busy}\n\n`, 'overloaded'],
    ['an error object', sse, `${hi}data: {"object":"error","message":"Busy"}\n\n`, 'server_error'],
    ['an error field', sse, `${hi}error: ${busy}\n\n`, 'overloaded'],
    ['the body of an error', sse, `${hi}{"error":{"message":"Busy"}}\n`, 'server_error'],
    ['an error event of bare text', sse, 'data: Hi\n\nevent: error\ndata: Busy\n\n', 'server_error'],
    ['an error line', 'application/x-ndjson', '{"delta":"Hi"}\n{"error":"Busy"}\n', 'server_error'],
    ['an error as the only JSON body', 'application/json', '{"error":{"message":"Busy"}}', 'server_error'],
  ]
  for (const [what, type, body, code] of errors)
    it(`fails with ${what}`, () => {
      const end = endOf(runText(type, body))
      expect(end).to.include({ complete: false, verified: false, reason: 'Busy' })
      expect(end.failure).to.include({ kind: 'server_error', code, message: 'Busy' })
      if (type !== 'application/json') expect(end.text).to.equal('Hi')
    })

  const useless: [string, string, string][] = [
    ['nothing', 'text/plain', ''],
    ['no events', sse, ''],
    ['a web page', 'text/html', '<!doctype html><p>Sign in</p>'],
    ['a JSON body without a text', 'application/json', '{"ok":true}'],
    ['invalid text declared as JSON', 'application/json', '<<<'],
  ]
  for (const [what, type, body] of useless)
    it(`is unusable with ${what}`, () => {
      const end = endOf(runText(type, body))
      expect(end).to.include({ complete: false, text: '' })
      expect(end.failure?.kind).to.equal('invalid_response')
    })

  it('is complete and empty if the model returns no text', () =>
    expect(endOf(runText(sse, events([finish])))).to.include({ complete: true, verified: true, text: '' }))
})
