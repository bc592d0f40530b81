import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, type RunOptions, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { failing as failingWith, json, limited, reset, serveHandler } from '../../support/scripted-server.ts'
import { failing } from '../../system/failing.ts'
import { replacingCalls } from '../../system/replacing-calls.ts'

interface Result {
  index: number
  line: number
  status: string
  reply?: string
  end?: string
  error?: { code: string; message: string }
  row: Record<string, unknown>
}

describe('chat send --each', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new ChatHandler()))
  const path = (name: string) => join(sandbox.home, name)

  beforeEach(() => writeFileSync(path('rows.csv'), 'text,language\none,French\ntwo,\nthree,Dutch\n'))

  const options = (more: RunOptions = {}) => ({ service: server, timeout: 50_000, ...more })
  const args = (message: string, ...flags: string[]) => [
    ...['chat', 'send', message, '--yes', ...flags],
    ...(flags.includes('--each') ? [] : ['--each', 'rows.csv']),
    ...(flags.includes('--results') ? [] : ['--results', 'out.jsonl']),
  ]
  const send = (message: string, ...flags: string[]): Promise<Run> =>
    runChatctl(sandbox, args(message, ...flags), options())
  const sendFile = (name: string, message: string, ...flags: string[]) => {
    rmSync(path('out.jsonl'), { force: true })
    return send(message, '--each', name, ...flags)
  }
  const messages = () => server.sends.map(({ message }) => message)
  /** The last line of each row. */
  const results = (): Result[] => {
    const last: Result[] = []
    for (const line of readFileSync(path('out.jsonl'), 'utf8').trim().split('\n')) {
      const result: Result = JSON.parse(line)
      last[result.index] = result
    }
    return last.filter(Boolean)
  }
  const statuses = () => results().map(({ status }) => status)

  it('sends a message for each row in a separate conversation, and writes the replies', async () => {
    const done = await send('Say {{text}} in {{ language }}', '--json', '-m', 'model-b')
    expect(done.exitCode, done.stderr).to.equal(0)
    expect(messages()).to.have.members(['Say one in French', 'Say two in ', 'Say three in Dutch'])
    const shown = server.sends.map(({ context_id, model }) => [context_id, model])
    expect(shown).to.deep.equal(Array(3).fill([undefined, 'model-b']))
    expect(JSON.parse(done.stdout)).to.deep.equal({
      ...{
        rows: 3,
        done: 3,
        already_done: 0,
        not_whole: 0,
        failed: 0,
        unknown: 0,
        skipped: 0,
        remaining: 0,
        requests: 3,
      },
      results: 'out.jsonl',
    })
    const [first] = results()
    expect(results().map(({ index, line }) => [index, line])).to.deep.equal([
      [0, 2],
      [1, 3],
      [2, 4],
    ])
    expect(first).to.include({ status: 'done', reply: 'You said: Say one in French', model: 'model-b' })
    expect(first).to.include.keys('id', 'context_id', 'finish_reason')
    expect(first?.row).to.deep.equal({ text: 'one', language: 'French' })
    expect(statSync(path('out.jsonl')).mode & 0o777).to.equal(0o600)
    // Nothing is recorded on this machine.
    const continued = await runChatctl(sandbox, ['chat', 'send', '--continue', 'More'], options())
    expectFailure(continued, 2, 'no conversation')
  })

  it('reads JSONL, JSON, and YAML with values of any type, and stdin', async () => {
    const row = '{"text":"a","n":12345678901234567890,"b":true,"list":[1,{"x":null}],"none":null}'
    writeFileSync(path('rows.jsonl'), `${row}\n`)
    writeFileSync(path('rows.json'), `{"rows":[${row}]}`)
    writeFileSync(path('rows.yaml'), `rows:\n- ${row}\n`)
    const filled = 'a 12345678901234567890 true [1,{"x":null}] .'
    for (const name of ['rows.jsonl', 'rows.json', 'rows.yaml'])
      expect(await sendFile(name, '{{text}} {{n}} {{b}} {{list}} {{none}}.')).to.include({ exitCode: 0 })
    expect(messages()).to.deep.equal([filled, filled, filled])
    expect(readFileSync(path('out.jsonl'), 'utf8')).to.contain(`"row":${row}`)
    rmSync(path('out.jsonl'))
    const piped = await runChatctl(sandbox, args('Say {{text}}', '--each', '-'), {
      ...options(),
      stdin: 'text\nfrom a pipe\n',
    })
    expect(piped.exitCode, piped.stderr).to.equal(0)
    expect(messages().at(-1)).to.equal('Say from a pipe')
  })

  it('replaces columns in the system message, the files, and the prompt, whose other variables have --var', async () => {
    const prompts = join(sandbox.home, '.config/chatctl/prompts')
    mkdirSync(prompts, { recursive: true })
    const matter = '---\ntemperature: 0.5\nsystem: Speak {{language}} to {{name}}\n---\n'
    writeFileSync(join(prompts, 'translate.md'), `${matter}Text: {{input}} \\{{x}}`)
    writeFileSync(path('note.txt'), 'About {{text}}\n')
    expect(
      await send('\\{{text}} {{text}}', '--prompt', 'translate', '--var', 'name=Ada', '-f', 'note.txt'),
    ).to.include({ exitCode: 0 })
    const one = server.completions.find(({ messages }) => messages?.[0]?.content === 'Speak French to Ada')
    expect(one).to.deep.include({ temperature: 0.5 })
    expect(one?.messages?.[1]?.content).to.equal(
      'Text: File: note.txt\n\n```txt\nAbout one\n```\n\n{{text}} one {{x}}',
    )
    await sendFile('rows.csv', 'Hello', '--system', 'Speak {{language}}')
    expect(server.completions.map(({ messages }) => messages?.[0]?.content)).to.include('Speak Dutch')
    const refused = await sendFile('rows.csv', '{{text}}', '--prompt', 'translate', '--var', 'x=1')
    expectFailure(refused, 2, 'no variable x')
  })

  it('refuses a message, a file, or flags with which it cannot send every row, and sends nothing', async () => {
    const cases: [run: () => Promise<Run>, words: string][] = [
      [() => send('Say {{txt}} {{text}}'), 'rows.csv has no column txt\nHint:  Columns: text, language.'],
      [() => send('Say it'), 'The message has no {{column}}'],
      [() => send('Say {{a b}}'), 'MESSAGE: {{a b}} is not a variable'],
      [() => send('{{text}}', '--continue'), '--continue'],
      [() => send('{{text}}', '--context', 'c'), '--context'],
      [() => send('{{text}}', '--extract'), '--extract'],
      [() => send('{{text}}', '--stream'), '--stream'],
      [() => send('{{text}}', '--results', 'out.csv'), 'file extension .jsonl'],
      [() => send('{{text}}', '--each', 'none.csv'), 'Cannot read none.csv'],
      [() => runChatctl(sandbox, ['chat', 'send', '{{a}}', '--each', 'rows.csv'], options()), '--results'],
      [() => runChatctl(sandbox, ['chat', 'send', 'Hi', '--results', 'out.jsonl'], options()), '--each'],
    ]
    for (const [run, words] of cases) expectFailure(await run(), 2, words)
    const files: [name: string, text: string, words: string][] = [
      [
        'a.jsonl',
        '{"text":"a"}\n{"txt":"b"}\n[]\n',
        'a.jsonl:2:1: text is missing\na.jsonl:3:1: a row must be',
      ],
      ['a.jsonl', '{"text":" "}', 'a.jsonl:1:1: the message is empty'],
      ['a.json', '[{"text":1,"text":2}]', 'a.json:1:12: duplicate key "text"'],
      ['a.yaml', 'texts: []', 'expected a list of rows'],
      ['a.csv', 'text,text\na,b\n', 'a.csv:1:6: duplicate column "text"'],
      ['a.csv', 'text\n"a\n', 'a.csv:2:1: unclosed quote'],
      ['a.csv', 'text\n', 'a.csv contains no rows'],
    ]
    for (const [name, text, words] of files) {
      writeFileSync(path(name), text)
      expectFailure(await send('{{text}}', '--each', name), 2, words)
    }
    expect(server.sends).to.deep.equal([])
    expect(existsSync(path('out.jsonl'))).to.equal(false)
  })

  it('sends the valid rows with --skip-invalid, and writes the others to a file', async () => {
    writeFileSync(path('rows.csv'), 'text,language\none,French\ntwo\n')
    const done = await send('Say {{text}}', '--skip-invalid')
    expect(done.exitCode).to.equal(9)
    expect(done.stderr).to.contain('1 invalid row was skipped').and.not.contain('failed rows')
    expect(messages()).to.deep.equal(['Say one'])
    expect(statuses()).to.deep.equal(['done', 'skipped'])
    expect(results()[1]?.error?.message).to.equal('1 fields, but the header has 2')
    expect(readFileSync(path('rows.failed.csv'), 'utf8')).to.equal('text,language\ntwo\n')
    expect(done.stderr).to.match(
      /chatctl chat send .*--each \S*rows\.failed\.csv --results \S*rows\.failed\.results\.jsonl/,
    )
  })

  it('writes a line for a failed row, and sends only that row again', async () => {
    server.failNext(failingWith(422, 'bad_words', 'No such words'))
    const done = await send('Say {{text}}', '--concurrency', '1', '--json')
    expect(done.exitCode).to.equal(9)
    expect(done.stderr).to.contain('1 row failed').and.contain('Line 2 failed: 422: ')
    expect(statuses()).to.deep.equal(['failed', 'done', 'done'])
    expect(results()[0]?.error).to.include({ code: 'bad_words' })
    expect(results()[0]?.error?.message).to.contain('No such words')
    const again = await send('Say {{text}}', '--json')
    expect(again.exitCode, again.stderr).to.equal(0)
    expect(JSON.parse(again.stdout)).to.include({ done: 1, already_done: 2, requests: 1 })
    expect(statuses()).to.deep.equal(['done', 'done', 'done'])
    expect(messages()).to.have.length(4)
    expect(existsSync(path('rows.failed.csv'))).to.equal(false)
    expect((await send('Say {{text}}')).stderr).to.contain('Nothing was left to send.')
    expect(messages()).to.have.length(4)
  })

  it('does not send a row again whose outcome is unknown, apart from --on-unknown retry', async () => {
    server.failNext(reset)
    const done = await send('Say {{text}}', '--concurrency', '1')
    expect(done.exitCode).to.equal(9)
    expect(done.stderr).to.contain('the outcome of 1 row is unknown')
    expect(done.stderr).to.match(/run: chatctl chat send .*--on-unknown retry/)
    for (const _ of [1, 2]) expect((await send('Say {{text}}')).exitCode).to.equal(9)
    expect(statuses()).to.deep.equal(['unknown', 'done', 'done'])
    expect(messages()).to.have.length(3)
    server.failNext(limited({ 'retry-after': '30' }))
    expect((await send('Say {{text}}', '--on-unknown', 'retry', '--max-wait', '1s')).exitCode).to.equal(75)
    expect(statuses()).to.deep.equal(['unknown', 'done', 'done'])
    expect((await send('Say {{text}}', '--on-unknown', 'retry')).exitCode).to.equal(0)
    expect(statuses()).to.deep.equal(['done', 'done', 'done'])
  })

  it('treats another message or content of the file as another batch, with its own results', async () => {
    expect((await send('Say {{text}}')).exitCode).to.equal(0)
    const kept = readFileSync(path('out.jsonl'), 'utf8')
    expectFailure(await send('Sing {{text}}'), 2, 'out.jsonl exists and is not of this batch')
    writeFileSync(path('rows.csv'), 'text\nfour\n')
    expectFailure(await send('Say {{text}}'), 2, 'out.jsonl exists and is not of this batch')
    expect(readFileSync(path('out.jsonl'), 'utf8')).to.equal(kept)
    expect((await send('Say {{text}}', '--results', 'other.jsonl')).exitCode).to.equal(0)
    const refused = await send('Say {{text}}', '--results', 'third.jsonl')
    expectFailure(refused, 2, 'The results of this batch are in')
    expect(messages()).to.have.length(4)
  })

  it('sends every row again with --restart, and keeps the results until then', async () => {
    await send('Say {{text}}')
    const kept = readFileSync(path('out.jsonl'), 'utf8')
    const asked = await runChatctl(
      sandbox,
      args('Say {{text}}', '--restart').filter((word) => word !== '--yes'),
      options(),
    )
    expect(asked.exitCode, asked.stderr).to.equal(3)
    expect(readFileSync(path('out.jsonl'), 'utf8')).to.equal(kept)
    expect((await send('Say {{text}}', '--restart')).exitCode).to.equal(0)
    expect(messages()).to.have.length(6)
    expect(statuses()).to.deep.equal(['done', 'done', 'done'])
    expect((await send('Say {{text}}')).stderr).to.contain('Nothing was left to send.')
  })

  it('needs the replies that it has written', async () => {
    await send('Say {{text}}')
    const [first = '', ...others] = readFileSync(path('out.jsonl'), 'utf8').split(/(?<=\n)/)
    writeFileSync(path('out.jsonl'), others.join(''))
    expectFailure(await send('Say {{text}}'), 1, 'out.jsonl lacks the reply of line 2')
    rmSync(path('out.jsonl'))
    expectFailure(await send('Say {{text}}'), 1, 'Restore it, or send every row again with --restart.')
    writeFileSync(path('out.jsonl'), first + others.join(''))
    expect((await send('Say {{text}}')).exitCode).to.equal(0)
    expect(messages()).to.have.length(3)
  })

  it('prints the numbers and the first message with --dry-run, and changes nothing', async () => {
    const done = await send('Say {{text}} in {{language}}', '--dry-run', '--json')
    expect(done.exitCode, done.stderr).to.equal(0)
    expect(JSON.parse(done.stdout)).to.deep.equal({
      ...{ rows: 3, already_done: 0, requests: 3 },
      first_requests: [
        {
          line: 2,
          method: 'POST',
          url: `${server.url}/api/chat/send`,
          body: { message: 'Say one in French' },
        },
      ],
    })
    expect(server.requests).to.deep.equal([])
    expect(existsSync(path('out.jsonl'))).to.equal(false)
    expect(existsSync(path('.local/state/chatctl/state/batches'))).to.equal(false)
  })

  it('asks before it sends, and says how much there is', async () => {
    writeFileSync(path('rows.csv'), 'text,language\none,French\ntwo\n')
    const asked = await runChatctl(
      sandbox,
      args('{{text}}', '--skip-invalid').filter((word) => word !== '--yes'),
      options(),
    )
    expect(asked.exitCode, asked.stderr).to.equal(3)
    expect(asked.stderr).to.contain('rows.csv: 2 rows, 1 message.\nQuota: unknown')
    expect(asked.stderr).to.contain(`Send 1 message to ${server.url}`)
    expect(server.sends).to.deep.equal([])
  })

  it('waits after Ctrl-C for the replies in progress, and resumes', async () => {
    const reply = server.answerNext({ text: 'late', held: true })
    const running = startChatctl(sandbox, args('Say {{text}}', '--concurrency', '1'), options())
    running.stdin.end()
    await reply.begun
    running.interrupt()
    reply.release()
    const ended = await running.ended
    expect(ended.exitCode).to.equal(130)
    expect(ended.stderr).to.contain('Waiting for the responses').and.to.contain('2 rows are left')
    expect(statuses()).to.deep.equal(['done'])
    expect((await send('Say {{text}}')).exitCode).to.equal(0)
    expect(messages()).to.have.members(['Say one', 'Say two', 'Say three'])
  })

  it('stops at a pause longer than --max-wait, and resumes', async () => {
    server.answerNext('first')
    server.failNext(limited({ 'retry-after': '30' }))
    const done = await send('Say {{text}}', '--concurrency', '1', '--max-wait', '1s')
    expect(done.exitCode).to.equal(75)
    expect(done.stderr).to.contain('2 rows are left. To resume, run the same command.')
    expect(statuses()).to.deep.equal(['done'])
    expect((await send('Say {{text}}')).exitCode).to.equal(0)
    expect(statuses()).to.deep.equal(['done', 'done', 'done'])
  })

  it('stops if the results cannot be written, and resumes', async () => {
    let full: Promise<void> | undefined
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    server.failNext((_, response) => {
      full = failing.call('writeSync', () => ended)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"m1","response":"Hi"}')
    })
    const done = await send('Say {{text}}', '--concurrency', '1', '--no-stream')
    end()
    await full
    expect(done.exitCode).to.equal(1)
    expect(done.stderr).to.contain('Cannot write the results to').and.to.contain('2 rows are left')
    expect(messages()).to.have.length(1)
    expect((await send('Say {{text}}')).exitCode).to.equal(9)
    expect(statuses()).to.deep.equal(['unknown', 'done', 'done'])
  })

  it('keeps a reply that is not whole, and sends its row again only on request', async () => {
    server.answerNext({ text: 'Half', finishReason: 'length' })
    server.answerNext({ text: [], finishReason: 'stop' })
    const ends = () => results().map(({ status, reply, end }) => [status, reply, end])
    const first = await send('Say {{text}}', '--concurrency', '1', '--json')
    expect(first.exitCode, first.stderr).to.equal(8)
    expect(JSON.parse(first.stdout)).to.include({ done: 1, not_whole: 2, failed: 0, requests: 3 })
    expect(first.stderr).to.include('--on-not-whole retry').and.include('stopped at the token limit')
    const expected = [
      ['not_whole', 'Half', 'length'],
      ['not_whole', '', 'empty'],
      ['done', 'You said: Say three', 'complete'],
    ]
    expect(ends()).to.deep.equal(expected)
    const same = await send('Say {{text}}')
    expect(same.exitCode).to.equal(8)
    expect(same.stderr).to.include('2 rows got a reply that is not whole')
    expect([messages().length, ends()]).to.deep.equal([3, expected])
    const again = await send('Say {{text}}', '--on-not-whole', 'retry')
    expect([again.exitCode, messages().length], again.stderr).to.deep.equal([0, 5])
    expect(statuses()).to.deep.equal(['done', 'done', 'done'])
  })

  it('resumes after a kill at any write while it sends such a row again', async () => {
    server.answerNext({ text: 'Half', finishReason: 'length' })
    await send('Say {{text}}', '--concurrency', '1')
    const files = () => {
      const all = readdirSync(sandbox.home, { recursive: true, withFileTypes: true, encoding: 'utf8' })
      const logs = all.filter(({ name, parentPath }) => /ledger|out\.jsonl/.test(join(parentPath, name)))
      const paths = logs.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name))
      return paths.map((file) => [file, readFileSync(file)] as const)
    }
    const states: ReturnType<typeof files>[] = []
    const real = fs.fdatasync
    const fdatasync = (...[file, done]: Parameters<typeof real>) => {
      states.push(files())
      real(file, done)
    }
    const again = () => send('Say {{text}}', '--on-not-whole', 'retry', '--concurrency', '1')
    expect((await replacingCalls({ fdatasync }, again)).exitCode).to.equal(0)
    expect(states.length).to.be.greaterThan(2)
    for (const state of states) {
      for (const [file, bytes] of state) writeFileSync(file, bytes)
      const { exitCode, stderr } = await send('Say {{text}}')
      expect(exitCode, stderr).to.be.oneOf([0, 8, 9])
    }
  })

  it('counts a reply at a token limit as done if the batch has set the limit that was reached', async () => {
    for (const [tokens, code] of [
      [2, 0],
      [1, 8],
    ]) {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Half' }, finish_reason: 'length' }]
      const body = { choices, usage: { completion_tokens: tokens } }
      server.faults.set('POST /v1/chat/completions', [json(200, body)])
      rmSync(path('out.jsonl'), { force: true })
      const message = `Say {{text}} ${tokens}`
      const { exitCode, stderr } = await send(message, '--concurrency', '1', '--max-tokens', '2')
      expect([exitCode, results()[0]?.end], stderr).to.deep.equal([code, 'length'])
    }
  })
})
