import { expect } from 'chai'
import { historyService, plainReading, storedAt } from '../support/handlers/history.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { type HostOptions, runChatctl, startChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import {
  answer,
  type Behavior,
  failing,
  html502,
  json,
  resetMidBody,
  type Script,
  shortBody,
  startScriptedServer,
} from '../support/scripted-server.ts'

const key = 'sk-canary-4f1e92c07a'

describe('chatctl api', () => {
  const sandbox = perSuite(createSandbox)
  const server = perTest(startScriptedServer)

  async function run(args: readonly string[], script: Script, options: HostOptions = {}) {
    const service = { CHATCTL_BASE_URL: await server.serve(script), CHATCTL_API_KEY: key }
    const env = { ...service, CHATCTL_RETRIES: '0', NO_COLOR: '1' }
    return runChatctl(sandbox, ['api', ...args], { ...options, env })
  }

  it('warns of invalid UTF-8 in JSON, and prints any other response unchanged', async () => {
    const given = Buffer.from('{"name":"Ren\xe9 \xef\xbf\xbd"}', 'latin1')
    const shown = await run(['/v1/users/u1'], answer(200, { 'content-type': 'application/json' }, given))
    expect(shown).to.include({ exitCode: 0 })
    expect(JSON.parse(shown.stdout)).to.deep.equal({ name: 'Ren\ufffd \ufffd' })
    expect(shown.stderr).to.include('The response is not valid UTF-8 (invalid bytes are replaced by U+FFFD)')
    const raw = await run(['/v1/users/u1'], answer(200, { 'content-type': 'text/plain' }, given.subarray(1)))
    expect(raw).to.include({ exitCode: 0, stderr: '' })
    expect(raw.stdout).to.equal(given.subarray(1).toString())
  })

  describe('for a status other than 2xx', () => {
    const exitCodes: Record<number, number> = { 304: 1, 400: 1, 401: 4, 404: 6, 500: 69 }
    const own = '{ "error": {"code":"odd",\n"message":"No", "extra": 1.0} }'
    const bodies: Record<string, [type: string, body: string]> = {
      'the documented error': ['application/json', own],
      'other JSON': ['application/problem+json', '["x",9007199254740993]'],
      'a web page': ['text/html', '<html>\r\n<h1>Down</h1></html>\n'],
      'plain text': ['text/plain', 'no\thealthy \u001b[7m upstream'],
      'invalid JSON': ['application/json', '{"error":'],
      'no body': ['application/json', ''],
    }
    for (const status of Object.keys(exitCodes).map(Number)) {
      for (const [what, [type, body]] of Object.entries(bodies)) {
        const exitCode = exitCodes[status]
        // RFC 9110 section 15.4.5: this status has no body.
        if (status === 304 && body !== '') continue
        it(`prints the body unchanged on stdout, the error on stderr, and exits ${exitCode}: ${status} with ${what}`, async () => {
          const got = await run(['/v1/x'], answer(status, { 'content-type': type }, body))
          expect(got).to.include({ exitCode, stdout: body })
          expect(got.stderr)
            .to.match(/^Error: \S/)
            .and.not.contain('\u001b')
        })
      }
    }

    it('prints a binary body byte by byte in a pipe, and describes it in a terminal', async () => {
      const body = Uint8Array.from({ length: 300 }, (_, index) => index % 256)
      const behavior = answer(404, { 'content-type': 'image/png' }, body)
      const env = { CHATCTL_BASE_URL: await server.serve(behavior), CHATCTL_API_KEY: key }
      const running = startChatctl(sandbox, ['api', '/v1/x'], { env })
      const chunks: Buffer[] = []
      running.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
      running.stdin.end()
      expect((await running.ended).exitCode).to.equal(6)
      expect(Buffer.concat(chunks).equals(body)).to.equal(true)
      const found = (await run(['/v1/x'], behavior, { terminal: { columns: 200 } })).stdout
      expect(found).to.match(/^Warning: The response body is not UTF-8 text \(300 bytes\), so .*\r?\nError: /)
    })

    it('prints the status and the headers first, with --include', async () => {
      const { stdout, exitCode } = await run(['/v1/x', '-i'], json(403, { a: 1 }, { 'x-one': '1' }))
      expect(stdout).to.match(/^HTTP 403 Forbidden\n(.+\n)*x-one: 1\n(.+\n)*\n\{"a":1\}$/)
      expect(exitCode).to.equal(5)
    })

    it('prints the body in the output format, and the error as JSON on stderr', async () => {
      const behavior = failing(404, 'gone', 'No')
      const body = { error: { code: 'gone', message: 'No' } }
      const structured = await run(['/v1/x', '--json'], behavior)
      expect(JSON.parse(structured.stdout)).to.deep.equal(body)
      expect(JSON.parse(structured.stderr).error).to.include({ code: 'gone', status: 404 })
      expect((await run(['/v1/x', '-o', 'jsonl'], behavior)).stdout).to.equal(`${JSON.stringify(body)}\n`)
      const found = (await run(['/v1/x', '-o', 'yaml'], behavior)).stdout
      expect(found).to.equal('error:\n  code: gone\n  message: "No"\n')
      const actual = (await run(['/v1/x', '-o', 'tsv'], behavior)).stdout
      expect(actual).to.equal('error.code\tgone\nerror.message\tNo\n')
    })

    for (const choice of ['--jq .data[].id', '--fields id'])
      it(`prints nothing on stdout with ${choice}, which is for the response to a success`, async () => {
        const got = await run(['/v1/x', ...choice.split(' ')], failing(404, 'gone', 'No'))
        expect(got).to.include({ exitCode: 6, stdout: '' })
        expect(got.stderr).to.match(/"code":"gone"|^Error: No/)
      })

    it('says that a body is not JSON if the output format needs JSON', async () => {
      const { exitCode, stdout, stderr } = await run(['/v1/x', '--json'], html502)
      expect({ exitCode, stdout }).to.deep.equal({ exitCode: 69, stdout: '' })
      const [warning, error] = stderr.trim().split('\n')
      expect(JSON.parse(warning ?? '').warning.message).to.contain('is not JSON')
      expect(JSON.parse(error ?? '').error).to.include({ code: 'server_error', status: 502 })
    })

    for (const [what, behavior] of [
      ['reset', resetMidBody('{"error":', 404)],
      ['closed', shortBody('{"error":', 404)],
    ] as const)
      it(`prints the part of a body that arrived before the connection was ${what}, and says so`, async () => {
        const { exitCode, stdout, stderr } = await run(['/v1/x'], behavior)
        expect({ exitCode, stdout }).to.deep.equal({ exitCode: 6, stdout: '{"error":' })
        expect(stderr).to.match(/^Warning: The response body is truncated after 9 bytes\nError: HTTP 404/)
      })

    it('removes the credential from a body that repeats it, and nothing else', async () => {
      const echo: Behavior = (request, ...rest) =>
        answer(401, {}, `who is "${request.headers.authorization}"?\r\n`)(request, ...rest)
      expect((await run(['/v1/x'], echo)).stdout).to.equal('who is "Bearer [redacted]"?\r\n')
    })

    it('removes nested secrets that were sent from a body that repeats them', async () => {
      const echo: Behavior = (request, ...rest) => answer(422, {}, `no: ${request.body}`)(request, ...rest)
      const body = '{"smtp":{"apiKey":"canary-1","list":[{"password":"canary-2"}]},"name":"Ada"}'
      const { stdout, stderr } = await run(['POST', '/v1/x', '--data', body], echo)
      expect(stdout + stderr)
        .to.contain('Ada')
        .and.not.to.contain('canary')
    })

    it('reports an unknown outcome of a change after the body', async () => {
      const { exitCode, stdout, stderr } = await run(['PATCH', '/v1/x', '-d', '{}'], answer(500, {}, 'oops'))
      expect({ exitCode, stdout }).to.deep.equal({ exitCode: 69, stdout: 'oops' })
      expect(stderr).to.match(/^Error: The outcome of the change is unknown: /)
      expect(stderr).to.contain('chatctl api GET /v1/x')
    })
  })

  describe('--field', () => {
    it('nests its names in the request body', async () => {
      await run('PATCH /v1/x -F a.b=c -F a.n:=1.0 -F x\\.y=z -F l[]=1'.split(' '), json(200, {}))
      expect(server.requests[0]?.body).to.equal('{"a":{"b":"c","n":1.0},"x.y":"z","l":["1"]}')
    })
  })

  describe('--paginate', () => {
    const messages = storedAt(Array.from({ length: 25 }, (_, index) => index))
    const stored = messages.map((message, index) => ({ ...message, x_extra: index }))
    const ids = (text: string) => text.match(/(?<="id":")\w+/g)
    const whole = (order: 'oldest' | 'newest') =>
      historyService({ ...plainReading, order, largest: 10 }, stored)
    const path = '/api/chat/history'

    for (const order of ['oldest', 'newest'] as const)
      it(`prints each message once, in the order of the pages of a service with the ${order} first`, async () => {
        const pages = [stored.slice(15), stored.slice(6, 15), stored.slice(0, 6)]
        const wanted = pages.flatMap((page) => (order === 'oldest' ? page : page.toReversed()))
        const lines = await run([path, '--paginate', '-o', 'jsonl'], whole(order))
        expect(lines.exitCode, lines.stderr).to.equal(0)
        expect(lines.stdout).to.equal(wanted.map((message) => `${JSON.stringify(message)}\n`).join(''))
        const array = await run(['GET', path, '--paginate'], whole(order))
        expect(JSON.parse(array.stdout)).to.deep.equal(wanted)
        expect((await run([path, '--paginate', '--jq', 'length'], whole(order))).stdout).to.equal('25\n')
      })

    it('prints the documented columns in csv, and those that --fields names', async () => {
      const { stdout } = await run([path, '--paginate', '-o', 'csv'], whole('oldest'))
      const first = 'm15,2026-01-01T00:15:00.000Z,assistant,text 15'
      expect(stdout.split('\n').slice(0, 2)).to.deep.equal(['id,created_at,role,content', first])
      const chosen = await run([path, '--paginate', '-o', 'tsv', '--fields', 'x_extra'], whole('oldest'))
      expect(chosen.stdout.split('\n')).to.have.lengthOf(26).and.to.include('24')
    })

    it('begins where the query says, with pages of its limit', async () => {
      const words = [`${path}?limit=4&before=m9&context_id=c`, '--paginate', '-o', 'jsonl']
      const { stdout } = await run(words, whole('oldest'))
      expect(new Set(ids(stdout))).to.deep.equal(new Set(stored.slice(0, 9).map(({ id }) => id)))
      const [first] = server.requests
      expect(first?.path).to.equal(`${path}?context_id=c&limit=4&before=m9`)
      for (const request of server.requests)
        expect(request.path).to.contain('limit=4').and.contain('context_id=c')
    })

    it('prints the lines before a failure, but no JSON array that is not whole', async () => {
      const broken = {
        choose: (request: { path: string }, index: number) =>
          index < 2 ? whole('oldest').choose(request, index) : failing(403, 'forbidden', 'No'),
      }
      const lines = await run([path, '--paginate', '-o', 'jsonl'], broken)
      expect(lines.exitCode).to.equal(5)
      expect(ids(lines.stdout)).to.have.lengthOf(19)
      expect(await run([path, '--paginate'], broken)).to.include({ exitCode: 5, stdout: '' })
    })

    const refused: [string[], string][] = [
      [['/v1/users'], 'The only documented endpoint with pages is GET /api/chat/history'],
      [['POST', path], 'The only documented endpoint with pages is GET /api/chat/history'],
      [[`${path}?role=user`], 'The query parameter role=user cannot be used with --paginate'],
      [[`${path}?limit=0`], 'The query parameter limit=0 cannot be used with --paginate'],
      [[path, '-i'], '--include'],
      [[path, '-H', 'x: y'], '--header'],
    ]
    for (const [args, words] of refused)
      it(`exits 2 and sends nothing: ${args.join(' ')}`, async () => {
        const { exitCode, stderr } = await run([...args, '--paginate'], json(200, {}))
        expect(exitCode).to.equal(2)
        expect(stderr).to.contain(words)
        expect(server.requests).to.deep.equal([])
      })
  })
})
