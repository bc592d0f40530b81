import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { type RunOptions, runChatctl } from '../../support/run-chatctl.ts'
import { answer, type Script } from '../../support/scripted-server.ts'
import { serveRuns } from '../../support/served-runs.ts'

/** Numbers that a double cannot represent, or that JavaScript would write differently. */
const numbers = '9007199254740993 1234567890123456789 1.0 0.10 -0 1e400 12345678901234567890.10'.split(' ')
const metadata = `{"n":${numbers[0]},"list":[${numbers.join()}]}`
const user = `{"id":"u1","email":"ada@example.com","name":"Ada","created_at":"2026-01-02T03:04:05Z","x":2.50,"metadata":${metadata}}`

describe('numbers beyond double precision', function () {
  this.timeout(60_000)
  const served = serveRuns()

  const { run } = served

  const body = (text: string) => answer(200, { 'content-type': 'application/json' }, text)

  async function printed(args: readonly string[], text: string, options: RunOptions = {}): Promise<string> {
    const { exitCode, stdout, stderr } = await run(args, body(text), options)
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    return stdout
  }

  function file(name: string, text: string): string {
    const path = join(served.sandbox.home, name)
    writeFileSync(path, text)
    return path
  }

  const sent = (): (string | undefined)[] =>
    (served.server?.requests ?? []).filter(({ method }) => method !== 'GET').map((request) => request.body)

  for (const [form, expected] of [
    ['jsonl', `${user}\n`],
    ['csv', `"{""n"":${numbers[0]},""list"":[${numbers.join()}]}"`],
    ['tsv', `\t${metadata}\t`],
    ['table', `metadata.n     ${numbers[0]}`],
    [
      'yaml',
      `  "n": ${numbers[0]}\n  list:\n${numbers.map((number) => `    - ${number.replace('1e', '1.0e+')}\n`).join('')}`,
    ],
  ] as const)
    it(`keep their digits with -o ${form}`, async () =>
      expect(await printed(['users', 'get', 'u1', '-o', form], user)).to.include(expected))

  it('keep their digits with --json, --fields, and --jq', async () => {
    const compact = (text: string) => text.replace(/\s+/g, '')
    expect(compact(await printed(['users', 'get', 'u1', '--json'], user))).to.equal(user)
    const fields = ['users', 'get', 'u1', '--json', '--fields', 'metadata.n']
    expect(compact(await printed(fields, user))).to.equal(`{"metadata":{"n":${numbers[0]}}}`)
    const filtered = await printed(['users', 'get', 'u1', '--jq', '.metadata.list[]'], user)
    expect(filtered.split('\n').slice(0, 5)).to.deep.equal(numbers.slice(0, 5))
    expect(compact(await printed(['api', '/v1/users/u1'], user))).to.equal(user)
  })

  it('are shown as a time in a time field', async () => {
    const models = '{"data":[{"id":"small","created":1767323045.0,"object":"model","owned_by":"us"}]}'
    const text = await printed(['chat', 'models', '-o', 'table'], models, { env: { TZ: 'UTC' } })
    expect(text).to.include('2026-01-02 03:04')
  })

  it('keep their digits in the usage of a completion', async () => {
    const usage = '{"prompt_tokens":9007199254740993,"completion_tokens":2.0,"total_tokens":3}'
    const reply = `{"id":"c1","created":1.0,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":${usage}}`
    const text = await printed(['chat', 'complete', 'hello', '--json', '--fields', 'usage'], reply)
    expect(text.replace(/\s+/g, '')).to.equal(`{"usage":${usage}}`)
  })

  it('keep their digits in the usage of a stream', async () => {
    const usage = '{"prompt_tokens":9007199254740993,"completion_tokens":2.0}'
    for (const [type, text] of [
      ['text/event-stream', `data: {"delta":"hi"}\n\ndata: {"usage":${usage}}\n\ndata: [DONE]\n\n`],
      ['application/x-ndjson', `{"delta":"hi"}\n{"usage":${usage},"done":true}\n`],
    ] as const) {
      const { stdout, stderr, exitCode } = await run(
        ['chat', 'send', 'hello', '--stream', '--json'],
        answer(200, { 'content-type': type }, text),
      )
      expect(exitCode, stderr).to.equal(0)
      expect(stdout).to.include(`"usage":${usage}`)
    }
  })

  it('are sent as they were typed', async () => {
    const args = [
      ...'users update u1 --metadata n:=9007199254740993 --metadata'.split(' '),
      'list:=[1.0, 1E5]',
    ]
    expect((await run(args, body('{"metadata":{"n":9007199254740993}}'))).exitCode).to.equal(0)
    expect(sent()).to.deep.equal(['{"metadata":{"n":9007199254740993,"list":[1.0,1E5]}}'])
    await run(['api', 'POST', '/v1/x', '--field', 'n:=9007199254740993'], body('{}'))
    expect(sent()).to.deep.equal(['{"n":9007199254740993}'])
    const held = await run([...args, '--dry-run', '--json'], body('{}'))
    expect(held.stdout).to.include('9007199254740993').and.to.include('1E5')
    const raw = ['api', 'POST', '/v1/x', '--data', '{"n":9007199254740993}', '--dry-run', '--json']
    expect((await run(raw, body('{}'))).stdout).to.include('9007199254740993')
  })

  describe('in settings', () => {
    const settings = (tokens: string) =>
      `{"limits":{"max_tokens":${tokens},"max_requests_per_min":60.0},"x":1.0}`

    for (const [name, text] of [
      ['s.yaml', 'limits:\n  max_tokens: 9007199254740993\n'],
      ['s.json', '{"limits":{"max_tokens":9007199254740993}}'],
    ] as const)
      it(`are compared and sent exactly, from ${name}`, async () => {
        const path = file(name, text)
        const before = await run(['settings', 'diff', path, '--json'], body(settings('9007199254740992')))
        expect(before.stdout.replace(/\s+/g, '')).to.equal(
          '{"changes":[{"path":"limits.max_tokens","from":9007199254740992,"to":9007199254740993}]}',
        )
        let stored = '9007199254740992'
        const applied = await run(['settings', 'apply', path, '--yes'], {
          choose: ({ method }) => {
            if (method === 'PATCH') stored = '9007199254740993'
            return body(settings(stored))
          },
        })
        expect(applied.exitCode, applied.stderr).to.equal(0)
        expect(sent()).to.deep.equal(['{"limits":{"max_tokens":9007199254740993}}'])
      })

    it('are equal in different notations: 60.0 is 60', async () => {
      const path = file('same.yaml', 'limits:\n  max_requests_per_min: 60\n')
      const { stdout } = await run(['settings', 'diff', path, '--json'], body(settings('1')))
      expect(JSON.parse(stdout)).to.deep.equal({ changes: [] })
    })

    it('keep their digits in a saved plan', async () => {
      const path = file('plan.yaml', 'limits:\n  max_tokens: 9007199254740993\n')
      const plan = join(served.sandbox.home, 'the.plan')
      let stored = '9007199254740992'
      const script: Script = {
        choose: ({ method }) => {
          if (method === 'PATCH') stored = '9007199254740993'
          return body(settings(stored))
        },
      }
      await run(['settings', 'diff', path, '--save', plan], script)
      const env = { CHATCTL_BASE_URL: served.server?.url ?? '', CHATCTL_API_KEY: 'some-key' }
      expect(readFileSync(plan, 'utf8')).to.include('9007199254740993').and.to.include('9007199254740992')
      const applied = await runChatctl(served.sandbox, ['settings', 'apply', plan, '--yes'], { env })
      expect(applied.exitCode, applied.stderr).to.equal(0)
      expect(sent()).to.deep.equal(['{"limits":{"max_tokens":9007199254740993}}'])
    })

    it('keep their digits in settings set and settings export', async () => {
      const exported = await run(['settings', 'export'], body(settings('9007199254740993')))
      expect(exported.stdout).to.include('max_tokens: 9007199254740993').and.to.include('per_min: 60.0')
      const set = await run(
        ['settings', 'set', 'limits.max_tokens=+09007199254740993'],
        body(settings('9007199254740993')),
      )
      expect(set.exitCode, set.stderr).to.equal(0)
      expect(sent()).to.deep.equal(['{"limits":{"max_tokens":9007199254740993}}'])
    })

    it('are rejected if the setting must be an integer and they are not', async () => {
      for (const number of ['1.5', '9007199254740993.5', '1e-400', '1.00000000000000000001']) {
        const path = file('none.json', `{"limits":{"max_tokens":${number}}}`)
        const { exitCode, stderr } = await run(['settings', 'apply', path, '--yes'], body(settings('1')))
        expect({ exitCode, requests: served.server?.requests.length }).to.deep.equal({
          exitCode: 2,
          requests: 0,
        })
        expect(stderr).to.include('limits.max_tokens must be an integer')
      }
    })
  })

  for (const form of ['jsonl', 'json', 'md'])
    it(`keep their digits in an exported history: ${form}`, async () => {
      const message = `{"id":9007199254740993,"role":"user","content":{"n":1.0},"created_at":1767323045.0,"x":1234567890123456789}`
      const path = join(served.sandbox.home, `history.${form}`)
      expect(
        await run(['history', 'export', '--to', path], body(`{"messages":[${message}],"has_more":false}`)),
      ).to.include({ exitCode: 0 })
      const text = readFileSync(path, 'utf8')
      expect(text).to.include(form === 'md' ? '"n": 1.0' : message)
      if (form === 'md') expect(text).to.include('2026-01-02 03:04:05')
    })

  it('keep their digits as the cursor of the next page', async () => {
    const page = (id: string, more: boolean) =>
      body(
        `{"messages":[{"id":${id},"role":"user","content":"x","created_at":"2026-01-02T03:04:05Z"}],"has_more":${more}}`,
      )
    const { exitCode, stderr } = await run(['history', 'export'], {
      choose: ({ path }) =>
        path.includes('before=') ? page('9007199254740991', false) : page('9007199254740993', true),
    })
    expect(exitCode, stderr).to.equal(0)
    expect(
      served.server?.requests.map(({ path }) => new URL(path, 'http://x').searchParams.get('before')),
    ).to.include('9007199254740993')
  })

  it('keep their digits as the ID of a new user', async () => {
    const { stdout } = await run(
      ['users', 'create', '--email', 'a@example.com', '--password-stdin', '--fields', 'id'],
      body('{"id":9007199254740993}'),
      { stdin: 'correct horse' },
    )
    expect(stdout).to.equal('9007199254740993\n')
  })

  it('keep their digits in the details and the code of an error', async () => {
    const error = '{"error":{"code":9007199254740993,"message":"no","details":{"n":1234567890123456789}}}'
    const refusal = answer(400, { 'content-type': 'application/json' }, error)
    expect((await run(['users', 'get', 'u1', '--json'], refusal)).stderr)
      .to.include('"code":"9007199254740993"')
      .and.to.include('"details":{"n":1234567890123456789}')
  })
})
