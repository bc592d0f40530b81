import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { watchPeakMemory } from '../test/support/peak-memory.ts'
import { createSandbox } from '../test/support/sandbox.ts'
import { cpuUntilExit, type Program, timeInTurn } from './measure.ts'

const binary = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const undici = new URL('../node_modules/undici/index.js', import.meta.url).href

const messages = 100_000

/** A minimal script for a service with known behavior: prints the newest page first, as it arrives. */
const bareLoop = `
import { request } from ${JSON.stringify(undici)}
let before
for (;;) {
  const cursor = before === undefined ? '' : '&before=' + before
  const { body } = await request(process.env.CHATCTL_BASE_URL + '/api/chat/history?limit=100' + cursor)
  const page = await body.json()
  process.stdout.write(page.messages.map((message) => JSON.stringify(message) + '\\n').join(''))
  if (!page.has_more) break
  before = page.messages[0].id
}`

/** The same loop, oldest message first: it stores the pages on disk until it has the oldest one. */
const orderedLoop = `
import { openSync, readSync, rmSync, writeSync } from 'node:fs'
import { request } from ${JSON.stringify(undici)}
const path = process.env.HOME + '/pages'
const file = openSync(path, 'w+')
const sizes = []
let before
for (;;) {
  const cursor = before === undefined ? '' : '&before=' + before
  const { body } = await request(process.env.CHATCTL_BASE_URL + '/api/chat/history?limit=100' + cursor)
  const page = await body.json()
  sizes.push(writeSync(file, page.messages.map((message) => JSON.stringify(message) + '\\n').join('')))
  if (!page.has_more) break
  before = page.messages[0].id
}
let end = sizes.reduce((sum, size) => sum + size, 0)
for (const size of sizes.reverse()) {
  const bytes = Buffer.allocUnsafe(size)
  readSync(file, bytes, 0, size, (end -= size))
  process.stdout.write(bytes)
}
rmSync(path)`

/** Medians of the CPU time of whole processes in ms, their ratio, and the peak memory over an empty run in bytes. */
export interface ExportFigures {
  chatctl: number
  bareUndici: number
  /** The bare loop that writes the oldest message first. */
  ordered: number
  ratio: number
  memory: number
}

/** `history export -o jsonl` of 100,000 messages, relative to a bare loop over the same pages. */
export async function measureExport(rounds: number): Promise<ExportFigures> {
  const sandbox = createSandbox()
  const server = await startHistory()
  const { port } = server.address() as AddressInfo
  const env = { ...sandbox.env, CHATCTL_BASE_URL: `http://127.0.0.1:${port}`, CHATCTL_API_KEY: 'bench-key' }
  const programs: Program[] = [
    { name: 'chatctl', command: process.execPath, args: [binary, 'history', 'export', '-o', 'jsonl'], env },
    { name: 'bare', command: process.execPath, args: ['--input-type=module', '-e', bareLoop], env },
    { name: 'ordered', command: process.execPath, args: ['--input-type=module', '-e', orderedLoop], env },
  ]
  try {
    const medians = await timeInTurn(programs, rounds, cpuUntilExit)
    const peakOf = async (...more: string[]): Promise<number> => {
      const args = [binary, 'history', 'export', '-o', 'jsonl', ...more]
      const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'ignore'] })
      return (await watchPeakMemory(child)).peak
    }
    // An empty export requests one page.
    const memory = (await peakOf()) - (await peakOf('--since', '2099-01-01'))
    const of = (name: string): number => medians.get(name) ?? Number.NaN
    const [chatctl, bareUndici, ordered] = [of('chatctl'), of('bare'), of('ordered')]
    return { chatctl, bareUndici, ordered, ratio: chatctl / bareUndici, memory }
  } finally {
    server.close()
    server.closeAllConnections()
    sandbox.remove()
  }
}

/** A history, and one model. Sends prepared response bodies, so that the server takes little time. */
export async function startHistory(): Promise<Server> {
  const texts = Array.from({ length: messages }, (_, index) =>
    JSON.stringify({
      id: `msg_${String(index).padStart(22, '0')}`,
      content: `Message ${index}: ${'some words that say what a short answer says. '.repeat(1 + (index % 7))}`,
      role: index % 2 ? 'assistant' : 'user',
      created_at: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString(),
    }),
  )
  const server = createServer((request, response) => {
    if (request.url?.includes('/models')) return response.end('{"data":[{"id":"m"}]}')
    const before = /before=msg_(\d+)/.exec(request.url ?? '')?.[1]
    const end = before === undefined ? messages : Number(before)
    const start = Math.max(0, end - 100)
    const body = `{"messages":[${texts.slice(start, end).join(',')}],"has_more":${start > 0}}`
    return response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}
