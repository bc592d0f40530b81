import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A model server in a separate process: replies immediately with 1 KB, whole or in 50 chunks.
 */
const words = 'It is so. '.repeat(100)
const whole = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'bench',
  usage: { prompt_tokens: 9, completion_tokens: 300, total_tokens: 309 },
  choices: [{ index: 0, message: { role: 'assistant', content: words }, finish_reason: 'stop' }],
})

const pieces = Array.from({ length: 50 }, (_, index) =>
  event({ content: words.slice(index * 20, index * 20 + 20) }),
)
const streamed = [...pieces, event({}, 'stop'), 'data: [DONE]\n\n']

function event(delta: object, finish_reason: string | null = null): string {
  const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'bench' }
  return `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta, finish_reason }] })}\n\n`
}

const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  if (!body.includes('"stream":true')) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length }).end(whole)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const part of streamed) {
    response.write(part)
    // One event loop turn per chunk, like the tokens of a model.
    await new Promise((resolve) => setImmediate(resolve))
  }
  response.end()
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`{"url":"http://127.0.0.1:${(server.address() as AddressInfo).port}"}
`)
})
