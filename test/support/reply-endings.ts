import type { ReplyEnd } from '../../src/contract/reply/reply-end.ts'
import type { Behavior } from './scripted-server.ts'

/** A reply of a model server: the chunks of its stream, and how it ends. */
interface Ending {
  /** A string is sent as it is, and is no event that a client of the model server gets. */
  chunks: (object | string)[]
  /** Without `[DONE]`, the connection is closed after the last chunk. */
  isClosed?: boolean
  text: string
  reasoning?: string
  end: ReplyEnd
  tools?: string[]
  /** A part of the error message. */
  words?: string
  /** The reply in one piece. */
  whole?: object
}

const chunk = (delta: object, finish_reason: string | null = null, more = {}) => ({
  choices: [{ index: 0, delta, finish_reason, ...more }],
})
const whole = (message: object, finish_reason?: string, more = {}) => ({
  choices: [{ index: 0, message, finish_reason, ...more }],
})
const [one, two] = [{ content: 'one ' }, { content: 'two' }]
const text = (words: string) => ({ type: 'text', text: words })
const call = { index: 0, id: 'x', function: { name: 'get_time', arguments: '{}' } }
const overloaded = { error: { message: 'Provider overloaded', code: 502 } }

const byReason = (reason: string, end: ReplyEnd): Ending => ({
  chunks: [chunk(one), chunk(two), chunk({}, reason)],
  text: 'one two',
  end,
  whole: whole({ content: 'one two' }, reason),
})

const withLine = (line: string): Ending => ({
  chunks: [chunk(one), line, chunk(two), chunk({}, 'stop')],
  text: 'one two',
  end: 'complete',
})
const withTail = (tail: string): Ending => ({
  chunks: [chunk(one), chunk(two, 'stop'), tail],
  isClosed: true,
  text: 'one two',
  end: 'complete',
})

/** Replies that were read wrongly, or that other servers send. */
export const endings: Record<string, Ending> = {
  'a reason "null" or "none" in each chunk, and no end': {
    chunks: [chunk(one, 'null'), chunk(two, 'none')],
    isClosed: true,
    text: 'one two',
    end: 'truncated',
  },
  'a reason "none"': byReason('none', 'complete'),
  'a text that is also the refusal': {
    chunks: [chunk({ content: 'No', refusal: 'No' }), chunk({}, 'stop')],
    text: 'No',
    end: 'refusal',
    whole: whole({ content: 'No', refusal: 'No' }),
  },
  'parts of other types': {
    chunks: [
      chunk({
        content: [
          { type: 'reasoning', text: 'Hm' },
          { type: 'markdown', text: 'one ' },
        ],
      }),
      chunk({ content: [{ type: 'output_text', text: { value: 'two' } }, { type: 'image' }] }, 'stop'),
    ],
    text: 'one two',
    reasoning: 'Hm',
    end: 'complete',
    whole: whole({
      content: [
        { type: 'reasoning', text: 'Hm' },
        { type: 'markdown', text: 'one two' },
      ],
    }),
  },
  'an echo of the message': {
    chunks: [{ message: { role: 'user', content: 'Hi' } }, chunk(one), chunk(two, 'stop')],
    text: 'one two',
    end: 'complete',
  },
  'an end that only a client knows': {
    chunks: [chunk(one), { ...chunk(two, 'stop'), end: 'truncated' }],
    text: 'one two',
    end: 'complete',
    whole: whole({ content: 'one two' }, 'stop', { end: 'interrupted' }),
  },
  'an empty reason in each chunk': {
    chunks: [chunk(one, ''), chunk(two, '')],
    text: 'one two',
    end: 'complete',
    whole: whole({ content: 'one two' }, ''),
  },
  'a reason in each chunk': {
    chunks: [chunk(one, 'stop'), chunk(two, 'stop')],
    text: 'one two',
    end: 'complete',
  },
  'only an empty reason, and no end': {
    chunks: [chunk(one, ''), chunk(two, '')],
    isClosed: true,
    text: 'one two',
    end: 'truncated',
  },
  'a list of parts as content': {
    chunks: [
      chunk({ content: [{ type: 'thinking', thinking: [text('Hm')] }] }),
      chunk({ content: [text('one '), text('tw')] }),
      chunk({ content: [text('o')] }, 'stop'),
    ],
    text: 'one two',
    reasoning: 'Hm',
    end: 'complete',
    whole: whole({ content: [{ type: 'thinking', thinking: [text('Hm')] }, text('one two')] }, 'stop'),
  },
  'a refusal': {
    chunks: [chunk({ refusal: 'I can’t ' }), chunk({ refusal: 'do that.' }), chunk({}, 'stop')],
    text: 'I can’t do that.',
    end: 'refusal',
    whole: whole({ content: null, refusal: 'I can’t do that.' }, 'stop'),
  },
  'an error in a choice': {
    chunks: [chunk(one), chunk({}, null, overloaded)],
    text: 'one ',
    end: 'failed',
    words: 'Provider overloaded',
    whole: whole({ content: 'one ' }, 'error', overloaded),
  },
  'an error after a reason': {
    chunks: [chunk(one, 'stop'), overloaded],
    text: 'one ',
    end: 'failed',
    words: 'Provider overloaded',
  },
  'an error as reason': { ...byReason('error', 'failed'), words: 'The model ended the reply' },
  'text after a call of tools': {
    chunks: [chunk(one, null), chunk({ tool_calls: [call] }, 'tool_calls'), chunk(two)],
    text: 'one two',
    end: 'tool_calls',
    tools: ['get_time'],
    whole: whole({ content: 'one two', tool_calls: [call] }, 'tool_calls'),
  },
  'a line with one space': withLine(' \n'),
  'a line with another field': withLine('x-id: 1\n'),
  'a line with only the name of a field': withLine('ping\n\n'),
  'such a line before the text': {
    chunks: [chunk({ role: 'assistant' }), 'ping\n\n', chunk(one), chunk({}, 'stop')],
    text: 'one ',
    end: 'complete',
  },
  'the end marker DONE': withTail('data: DONE\n\n'),
  'the end marker [END], and [DONE]': { ...withTail('data: [END]\n\n'), isClosed: false },
  'a truncated event after the reason': withTail('data: {"usa'),
  'an empty call of a function': {
    chunks: [chunk({ ...one, function_call: { name: '', arguments: '' } }), chunk({}, 'stop')],
    text: 'one ',
    end: 'complete',
    whole: whole({ ...one, function_call: { name: '', arguments: '' } }, 'stop'),
  },
  'a call of a tool that the server runs': {
    chunks: [chunk({ tool_calls: [call] }), chunk(one), chunk(two), chunk({}, 'stop')],
    text: 'one two',
    end: 'complete',
    whole: whole({ content: 'one two', tool_calls: [call] }, 'stop'),
  },
  'a call of a tool without text': {
    chunks: [chunk({ tool_calls: [call] }), chunk({}, 'stop')],
    text: '',
    end: 'tool_calls',
    tools: ['get_time'],
    whole: whole({ content: null, tool_calls: [call] }, 'stop'),
  },
  'an empty error in each chunk': {
    chunks: [
      { ...chunk(one), error: {} },
      { ...chunk({}, 'stop'), error: { code: 0, message: 'ok' } },
    ],
    text: 'one ',
    end: 'complete',
    whole: { ...whole({ content: 'one ' }, 'stop'), error: {} },
  },
  'an error with code 0 beside a reply': {
    chunks: [chunk(one), chunk({}, 'stop', { error: { code: 0, message: 'ok' } })],
    text: 'one ',
    end: 'complete',
    whole: { ...whole({ content: 'one ' }, 'stop'), error: { code: 0, message: 'ok' } },
  },
  'a call of a tool without text and reason': {
    chunks: [chunk({ tool_calls: [call] })],
    text: '',
    end: 'tool_calls',
    tools: ['get_time'],
    whole: whole({ content: null, tool_calls: [call] }),
  },
  'a call of a tool after text, with the reason stop': {
    chunks: [chunk({ content: 'one ' }), chunk({ tool_calls: [call] }), chunk({}, 'stop')],
    text: 'one ',
    end: 'tool_calls',
    tools: ['get_time'],
  },
  'reasoning only, without reason': {
    chunks: [chunk({ reasoning: 'Hm' })],
    text: '',
    reasoning: 'Hm',
    end: 'empty',
    whole: whole({ content: null, reasoning: 'Hm' }),
  },
  'a text in the choice': {
    chunks: [
      { choices: [{ index: 0, text: 'one ' }] },
      { choices: [{ text: 'two', finish_reason: 'stop' }] },
    ],
    text: 'one two',
    end: 'complete',
    whole: { choices: [{ text: 'one two', finish_reason: 'stop' }] },
  },
  'reasoning only, at the token limit': {
    chunks: [chunk({ reasoning_content: 'Hm' }), chunk({ content: '' }, 'length')],
    text: '',
    reasoning: 'Hm',
    end: 'empty',
    whole: whole({ content: null, reasoning_content: 'Hm' }, 'length'),
  },
  'no text': { chunks: [chunk({}, 'stop')], text: '', end: 'empty', whole: whole({ content: '' }, 'stop') },
  length: byReason('length', 'length'),
  MAX_TOKENS: byReason('MAX_TOKENS', 'length'),
  content_filter: byReason('content_filter', 'filtered'),
  function_call: byReason('function_call', 'tool_calls'),
  end_turn: byReason('end_turn', 'complete'),
  'a reason that is unknown': byReason('full moon', 'complete'),
}

/** The body of a stream. */
export function streamOf({ chunks, isClosed }: Ending): string {
  const data = chunks.map((one) => (typeof one === 'string' ? one : `data: ${JSON.stringify(one)}\n\n`))
  return [...data, ...(isClosed ? [] : ['data: [DONE]\n\n'])].join('')
}

/** The same stream as the service passes it on. */
export function relayedStreamOf({ chunks, ...ending }: Ending): string {
  return streamOf({ ...ending, chunks: chunks.filter((one) => typeof one !== 'string'), isClosed: false })
}

/** One reply for each end that a service can send: its message, its reason, and the exit code of a command. */
export const sentEnds = {
  complete: [{ content: 'Hi' }, 'stop', 0],
  length: [{ content: 'Hi' }, 'length', 8],
  filtered: [{ content: 'Hi' }, 'content_filter', 8],
  refusal: [{ content: null, refusal: 'No' }, 'stop', 8],
  tool_calls: [{ content: null, tool_calls: [call] }, 'tool_calls', 8],
  empty: [{ content: '' }, 'stop', 8],
  failed: [{ content: 'Hi' }, 'error', 69],
} satisfies Partial<Record<ReplyEnd, [message: object, reason: string, exitCode: number]>>

export type SentEnd = keyof typeof sentEnds

/** Sends the reply with an end, as a stream if the request asks for one. */
export const endingWith =
  (end: SentEnd): Behavior =>
  (request, response) => {
    const [message, reason] = sentEnds[end]
    const isStream = JSON.parse(request.body).stream || /event-stream/.test(request.headers.accept ?? '')
    response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json')
    response.end(
      isStream
        ? streamOf({ chunks: [chunk(message), chunk({}, reason)], text: '', end })
        : JSON.stringify(whole(message, reason)),
    )
  }
