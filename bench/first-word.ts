import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createSandbox } from '../test/support/sandbox.ts'
import { type BoundedFigure, type Program, timeInTurn, untilFirstByte } from './measure.ts'

const binary = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const models = JSON.stringify({ data: [{ id: 'm', created: 0, object: 'model', owned_by: 'bench' }] })
const firstPiece = 'event: delta\ndata: {"id":"msg_1","context_id":"ctx_1","delta":"Hello"}\n\n'
const lastPiece = 'event: done\ndata: {"id":"msg_1","context_id":"ctx_1","finish_reason":"stop"}\n\n'
/** The server delays the rest of a reply by this many ms, so that only the first chunk is timed. */
const rest = 30

/** The same request with bare Node. */
const bareClient = `
const { request } = require('node:http')
const body = '{"message":"Hello","stream":true}'
const headers = { 'content-type': 'application/json', authorization: 'Bearer bench' }
request(process.argv[1] + '/api/chat/send', { method: 'POST', headers }, (answer) => {
  answer.on('data', (chunk) => process.stdout.write(chunk))
}).end(body)`

const stream = 'chat send --stream'

/** Time from process start to the first printed byte, of a streamed reply relative to the list of models. */
export async function benchFirstWord(rounds: number): Promise<BoundedFigure> {
  const sandbox = createSandbox()
  const server = createServer((request, response) => {
    request.resume()
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(models)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(firstPiece)
    setTimeout(() => response.end(lastPiece), rest)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { ...sandbox.env, CHATCTL_API_KEY: 'bench', CHATCTL_BASE_URL: url }
  const node = (name: string, ...args: string[]): Program => ({ name, command: process.execPath, args, env })
  const curl = [
    ...['-sN', '-H', 'content-type: application/json', '-H', 'authorization: Bearer bench'],
    ...['-d', '{"message":"Hello","stream":true}', `${url}/api/chat/send`],
  ]
  const programs: Program[] = [
    node('chat models', binary, 'chat', 'models'),
    node(stream, binary, 'chat', 'send', '--stream', 'Hello'),
    node('bare node', '-e', bareClient, url),
    { name: 'curl -N', command: 'curl', args: curl, env },
  ]
  try {
    return report(await timeInTurn(programs, rounds, untilFirstByte), rounds)
  } finally {
    server.close()
    sandbox.remove()
  }
}

function report(medians: Map<string, number>, rounds: number): BoundedFigure {
  const base = medians.get('chat models') ?? Number.NaN
  process.stdout.write(
    `to the first word, median of ${rounds} rounds in turn, Node ${process.versions.node}\n`,
  )
  for (const [name, ms] of medians) {
    process.stdout.write(
      `${name.padEnd(20)} ${ms.toFixed(1).padStart(7)} ms  ${(ms / base).toFixed(2)} of chat models\n`,
    )
  }
  const value = (medians.get(stream) ?? Number.NaN) / base
  return { name: `${stream} to its first word, of chat models`, value, bound: { most: 1.15 } }
}
