import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Tmux } from '../test/programs/tmux.ts'
import { createSandbox } from '../test/support/sandbox.ts'
import { type BoundedFigure, cpuOf, median } from './measure.ts'

const megabyte = 1_000_000
/** Characters per chunk: a few words. */
const pieceLength = 24
const lastWords = 'so it ends here.'

/**
 * CPU time of a session in tmux while a Markdown reply streams: 2 MB relative to `cat` of the same bytes,
 * and 20 MB relative to 2 MB. Requires tmux, bash, and Linux.
 */
export async function benchAnswerCpu(rounds: number): Promise<BoundedFigure> {
  const cat: number[] = []
  const small: number[] = []
  const large: number[] = []
  for (let round = 0; round < rounds; round++) {
    cat.push(await measureCat(writeMarkdown(2 * megabyte)))
    const [two = Number.NaN, twenty = Number.NaN] = await measureSession([2 * megabyte, 20 * megabyte])
    small.push(two)
    large.push(twenty)
  }
  const [catMs, smallMs, largeMs] = [median(cat), median(small), median(large)]
  const line = (name: string, ms: number, words: string) =>
    process.stdout.write(`${name.padEnd(20)} ${ms.toFixed(0).padStart(7)} ms  ${words}\n`)
  process.stdout.write(`CPU of a reply, median of ${rounds} rounds, Node ${process.versions.node}\n`)
  line('cat, 2 MB', catMs, '')
  line('session, 2 MB', smallMs, `${(smallMs / catMs).toFixed(1)} of cat`)
  line('session, 20 MB', largeMs, `${(largeMs / smallMs).toFixed(2)} of 2 MB`)
  return { name: 'CPU of a reply of 20 MB, of 2 MB', value: largeMs / smallMs, bound: { most: 11 } }
}

/** CPU time per reply in ms, in one session. */
async function measureSession(sizes: readonly number[]): Promise<number[]> {
  const sandbox = createSandbox()
  // The first reply is a warm-up: the cost of the start would make the ratio smaller.
  const answers = [megabyte / 5, ...sizes].map(writeMarkdown)
  const service = await startService(answers)
  const env = { CHATCTL_API_KEY: 'bench', CHATCTL_BASE_URL: service.url }
  const terminal = await Tmux.start(sandbox, ['chat'], { env })
  try {
    await terminal.waitFor(/^>$/m)
    const pid = await terminal.pid()
    const used: number[] = []
    for (const [index] of answers.entries()) {
      const before = cpuOf(pid)
      await terminal.say(`answer ${index}`)
      await terminal.waitFor(new RegExp(`${lastWords}\\s+.*total [\\s\\S]*\\n>$`), 300_000)
      used.push(cpuOf(pid) - before)
      // The next search must not match the previous reply.
      await terminal.key('C-l')
      await terminal.waitForNo(lastWords)
    }
    return used.slice(1)
  } finally {
    await terminal.close()
    service.close()
    sandbox.remove()
  }
}

/** CPU time of cat in ms, as measured by bash. */
async function measureCat(text: string): Promise<number> {
  const sandbox = createSandbox()
  const file = (name: string) => join(sandbox.home, name)
  writeFileSync(file('answer.md'), text)
  const script = `TIMEFORMAT='%3U %3S'; { time cat ${file('answer.md')}; } 2> ${file('times')}`
  const terminal = await Tmux.run(sandbox, ['bash', '-c', script])
  try {
    await terminal.exitCode()
    const [user = '', system = ''] = readFileSync(file('times'), 'utf8').trim().split(' ')
    return (Number(user) + Number(system)) * 1000
  } finally {
    await terminal.close()
    sandbox.remove()
  }
}

/** Sends the replies in order, in small chunks, with backpressure. */
async function startService(answers: readonly string[]): Promise<{ url: string; close(): void }> {
  let sent = 0
  const server = createServer((request, response) => {
    request.resume()
    if (request.method !== 'POST') {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"none"}}')
      return
    }
    const answer = answers[sent++] ?? ''
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    Readable.from(writeEvents(answer)).pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function* writeEvents(answer: string): Generator<string> {
  const names = { id: 'msg_1', context_id: 'ctx_1' }
  for (let at = 0; at < answer.length; at += pieceLength) {
    yield `event: delta\ndata: ${JSON.stringify({ ...names, delta: answer.slice(at, at + pieceLength) })}\n\n`
  }
  yield `event: done\ndata: ${JSON.stringify({ ...names, finish_reason: 'stop' })}\n\n`
}

/** Markdown with every common element, about `length` characters long. */
function writeMarkdown(length: number): string {
  const parts: string[] = []
  let written = 0
  for (let index = 0; written < length; index++) {
    const part = writeSection(index)
    parts.push(part)
    written += part.length
  }
  return `${parts.join('')}And ${lastWords}\n`
}

function writeSection(index: number): string {
  return `## Section ${index}

Words in a **bold** and an *italic* style, a \`piece of code\`, and a [link](https://example.com/${index}) in a
paragraph that is long enough to be wrapped at the edge of a terminal, as most paragraphs of answers are.

- a first thing
- a second thing, with \`code\`
  - and one below it

\`\`\`ts
export function add${index}(left: number, right: number): number {
  // A comment that says why.
  return left + right + ${index}
}
\`\`\`

| name | value |
|---|---|
| left | ${index} |
| right | ${index * 2} |

> A quotation of one sentence, as in a reply.

`
}
