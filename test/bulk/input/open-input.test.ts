import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import type { InputFormat } from '../../../src/bulk/input/input.ts'
import { type Input, readInput } from '../../../src/bulk/input/input.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { serveHandler } from '../../support/scripted-server.ts'
import { failureOf } from './text-input.ts'

describe('opening a file of rows', () => {
  const directory = perTest(makeEmptyDirectory)

  async function open(
    path: string,
    options: { format?: InputFormat; signal?: AbortSignal; stdin?: AsyncIterable<Uint8Array> } = {},
  ): Promise<Input> {
    const { format, ...given } = options
    const run = {
      signal: new AbortController().signal,
      stdin: new PassThrough(),
      untilEnded: () => () => {},
      resolvePath: String,
      ...given,
    }
    return readInput(run, path, format)
  }

  function file(name: string, text: string | Uint8Array): string {
    const path = join(directory.path, name)
    writeFileSync(path, text)
    return path
  }

  it('reads the whole file', async () => {
    const text = 'email\n'.repeat(100_000)
    const path = file('users.csv', text)
    const link = join(directory.path, 'link.csv')
    symlinkSync(path, link)
    const input = await open(link)
    expect([input.name, input.path]).to.deep.equal([link, await realpath(path)])
    expect(input.text).to.equal(text)
  })

  const formats: [string, string, InputFormat | undefined, InputFormat][] = [
    ['a.csv', '[', undefined, 'csv'],
    ['a.JSONL', '', undefined, 'jsonl'],
    ['a.ndjson', '', undefined, 'jsonl'],
    ['a.json', '', undefined, 'json'],
    ['a.yaml', '', undefined, 'yaml'],
    ['a.yml', '', undefined, 'yaml'],
    ['a.yml', '', 'json', 'json'],
    ['a.txt', '[', 'yaml', 'yaml'],
    ['a.txt', '\ufeff \n[{}]', undefined, 'json'],
    ['a', '{"email":1}', undefined, 'jsonl'],
    ['a', '- email: x', undefined, 'yaml'],
    ['a', '---\nemail: x', undefined, 'yaml'],
    ['a', '-x,email', undefined, 'csv'],
    ['a', '', undefined, 'csv'],
  ]
  for (const [name, text, format, expected] of formats) {
    it(`reads ${name} with ${JSON.stringify(text)}${format ? ` and --format ${format}` : ''} as ${expected}`, async () => {
      const input = await open(file(name, text), format ? { format } : {})
      expect(input.format).to.equal(expected)
    })
  }

  it('reads stdin', async () => {
    const input = await open('-', { stdin: new PassThrough().end('[{"email":"a@x"}]') })
    expect([input.name, input.path, input.format]).to.deep.equal(['stdin', undefined, 'json'])
    expect(input.text).to.equal('[{"email":"a@x"}]')
  })

  it('reads a named pipe like stdin', async function () {
    if (process.platform === 'win32') this.skip()
    const path = join(directory.path, 'pipe.csv')
    execFileSync('mkfifo', [path])
    const opening = open(path)
    setTimeout(() => writeFileSync(path, 'email\na@x\n'), 50)
    const input = await opening
    expect([input.name, input.path, input.format]).to.deep.equal([path, undefined, 'csv'])
    expect(input.text).to.equal('email\na@x\n')
  })

  it('imports each content of a pipe on its own, because its name says nothing', async function () {
    if (process.platform === 'win32') this.skip()
    const sandbox = createSandbox()
    const server = await serveHandler(new UsersHandler())
    const path = join(directory.path, 'pipe.csv')
    execFileSync('mkfifo', [path])
    const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-api-key' }
    for (const email of ['a@x.org', 'b@x.org']) {
      const running = runChatctl(sandbox, ['users', 'import', path, '--yes', '--json'], { env })
      await writeFile(path, `email\n${email}\n`)
      expect((await running).exitCode).to.equal(0)
    }
    expect(server.report().users.size).to.equal(2)
    await server.close()
    sandbox.remove()
  })

  it('stops waiting for a pipe without data when it is aborted', async function () {
    if (process.platform === 'win32') this.skip()
    const path = join(directory.path, 'pipe')
    execFileSync('mkfifo', [path])
    for (const silent of ['-', path]) {
      const controller = new AbortController()
      const reason = new Error('enough')
      setTimeout(() => controller.abort(reason), 50)
      let thrown: unknown
      await open(silent, { signal: controller.signal }).catch((error) => {
        thrown = error
      })
      expect(thrown).to.equal(reason)
    }
    // Ends the thread that waits for the other end.
    writeFileSync(path, '')
  })

  it('refuses a directory, a missing file, an empty name, and more than 64 MiB', async () => {
    mkdirSync(join(directory.path, 'a.csv'))
    const failures = [
      [join(directory.path, 'a.csv'), `${join(directory.path, 'a.csv')} is a directory, not a file`],
      [
        join(directory.path, 'none.csv'),
        `Cannot read ${join(directory.path, 'none.csv')}: no such file or directory (ENOENT)`,
      ],
      ['', 'Cannot read the file: its name is empty: no such file or directory (ENOENT)'],
    ]
    for (const [path = '', message] of failures) {
      const failure = await failureOf(() => open(path))
      expect([failure.kind, failure.message]).to.deep.equal(['refused', message])
    }
    const stdin = (async function* () {
      for (;;) yield Buffer.alloc(1024 * 1024)
    })()
    const failure = await failureOf(() => open('-', { stdin }))
    expect([failure.kind, failure.message]).to.deep.equal(['refused', 'stdin is larger than 64 MiB'])
  })

  it('refuses what is not text, and removes a byte order mark', async () => {
    for (const [bytes, words] of [
      [[0x61, 10, 0x62, 0xe9, 0x62, 10], 'is not UTF-8 text'],
      [[0xff, 0xfe, 0x61, 0], 'is UTF-16 text, not UTF-8'],
      [[0x61, 10, 0], 'is not text: it has a NUL character at position 2'],
    ] as const) {
      const path = file('a.csv', Buffer.from(bytes))
      const failure = await failureOf(() => open(path))
      expect([failure.kind, failure.message]).to.deep.equal(['refused', `${path} ${words}`])
    }
    expect((await open(file('a.csv', '\ufeffaé\n'))).text).to.equal('aé\n')
  })
})
