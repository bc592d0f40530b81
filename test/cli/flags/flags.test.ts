import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { answer, failing, json } from '../../support/fault-server.ts'
import { additions } from '../../support/flag-table.ts'
import { commands } from '../../support/manifest.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { FlagRuns } from './flag-runs.ts'

/** Every declared flag has a visible effect. */

const flags = new FlagRuns()
const { run, runHere, file } = flags

const profile = json(200, { id: 'u1', email: 'a@b' })
const create = ['users', 'create', '--generate-password']

/** Flags with an effect other than on the request, each with its check. */
const others: Record<string, () => Promise<void>> = {
  'api include': async () => {
    const { stdout } = await run(['api', 'GET', '/x', '-i'], answer(202, { 'x-one': '1' }, 'text'))
    expect(stdout).to.match(/^HTTP 202 Accepted\n(.+\n)*x-one: 1\n(.+\n)*\ntext$/)
  },
  'users:create generate-password': async () => {
    const { requests, stdout } = await run([...create, '--jq', '.generated_password'])
    expect(JSON.parse(requests[0]?.body ?? '').password).to.equal(stdout.trim())
    expect(stdout.trim()).to.match(/^[\w.-]{24}$/)
  },
  'history:export context': async () => {
    const page = json(200, { messages: [], has_more: false })
    const asked = async (...flag: string[]) =>
      (await run(['history', 'export', ...flag], page)).requests.map(({ path }) =>
        path.includes('context_id=c+1'),
      )
    expect(await asked()).to.deep.equal([false])
    expect(await asked('-c', 'c 1')).to.deep.equal([true])
  },
  'chat:send continue': async () => {
    const sent = { response: 'x', context_id: 'c-kept' }
    await run(['chat', 'send', 'x'], json(200, sent), { env: { CHATCTL_API_KEY: 'k' } })
    const address = flags.server?.url ?? ''
    const again = await runChatctl(flags.sandbox, ['chat', 'send', 'y', '--continue'], {
      env: { CHATCTL_BASE_URL: address, CHATCTL_API_KEY: 'k' },
    })
    expect(again.exitCode, again.stderr).to.equal(0)
    expect(JSON.parse(flags.server?.requests[1]?.body ?? '')).to.deep.include({
      message: 'y',
      context_id: 'c-kept',
    })
    const elsewhere = await run(['chat', 'send', 'y', '--continue'])
    expect(elsewhere).to.include({ exitCode: 2 })
    expect(elsewhere.requests).to.deep.equal([])
  },
  'chat:send stream': async () => {
    const reply = json(200, { id: 'm', response: 'x', context_id: 'c', created_at: 't' })
    const bodyOf = async (...given: string[]) => {
      const { requests } = await run(['chat', 'send', 'x', ...given], reply)
      return JSON.parse(requests[0]?.body ?? '')
    }
    expect(await bodyOf('--stream')).to.deep.equal({ message: 'x', stream: true })
    expect(await bodyOf('--no-stream')).to.deep.equal({ message: 'x' })
    const { stdout } = await run(['chat', 'send', 'x', '--stream', '--json'], reply)
    expect(stdout).to.match(/^\{"v":1,"type":"start"/)
  },
  'chat:send stream-format': async () => {
    const body = 'data: {"delta":"Hi"}\n\ndata: [DONE]\n\n'
    const script = answer(200, { 'content-type': 'text/event-stream' }, body)
    const send = ['chat', 'send', 'x']
    const raw = await run([...send, '--stream-format', 'text'], script)
    expect(raw).to.include({ exitCode: 0, stdout: `${body}` })
    expect(JSON.parse(raw.requests[0]?.body ?? '')).to.include({ stream: true })
    expect(await run([...send, '--stream-format', 'auto'], script)).to.include({ stdout: 'Hi\n' })
    const unstreamed = await run([...send, '--no-stream', '--stream-format', 'sse'], script)
    expect(unstreamed).to.include({ exitCode: 2 })
    expect(unstreamed.requests).to.deep.equal([])
    expect(await run([...send, '--stream-format', 'xml'], script)).to.include({ exitCode: 2 })
  },
  'chat:sessions all, search, limit': async () => {
    const directory = join(flags.sandbox.home, '.local', 'share', 'chatctl', 'sessions')
    const plant = (profile: string, text: string): string => {
      const about = { profile, baseUrl: 'https://other.example/' }
      const writer = TranscriptWriter.create(directory, about, systemClock)
      writer.append({ type: 'user', turn: 1, at: new Date().toISOString(), text })
      writer.close()
      return writer.id
    }
    const [one, two] = [plant('other', 'About lakes and rivers'), plant('other', 'About rivers')]
    const search = ['chat', 'sessions', '--fields', 'id', '--search']
    const args = [...search, 'ABOUT rivers']
    expect((await runHere(args)).stdout).to.equal('')
    const all = await runHere([...args, '--all'])
    expect(all.stdout.trimEnd().split('\n')).to.have.members([one, two])
    expect((await runHere([...search, 'rivers lakes', '--all'])).stdout).to.equal(`${one}\n`)
    const limited = await runHere([...args, '--all', '--limit', '1'])
    expect(limited.stdout).to.match(/^s\S+\n$/)
    expect(limited.stderr).to.contain('There are more sessions')
  },
  'chat:show reasoning': async () => {
    const directory = join(flags.sandbox.home, '.local', 'share', 'chatctl', 'sessions')
    const about = { profile: 'other', baseUrl: 'https://other.example/' }
    const writer = TranscriptWriter.create(directory, about, systemClock)
    writer.append({ type: 'user', turn: 1, at: new Date().toISOString(), text: 'Hi' })
    writer.append({ type: 'reasoning', turn: 1, text: 'They greet me.' })
    writer.close()
    const show = ['chat', 'show', writer.id]
    expect((await runHere(show)).stdout).not.to.contain('greet')
    expect((await runHere([...show, '--reasoning'])).stdout).to.contain('Reasoning: They greet me.')
  },
  'auth:status verify': async () => {
    const asked = await run(['auth', 'status', '--jq', '.verified'], json(200, { id: 'u1' }))
    expect(asked).to.include({ exitCode: 0, stdout: 'true\n' })
    const unasked = await run(['auth', 'status', '--no-verify', '--jq', '.verified'])
    expect(unasked).to.include({ exitCode: 0, stdout: 'false\n' })
    expect(unasked.requests).to.deep.equal([])
  },
  'auth:login with-api-key, insecure-storage': async () => {
    const login = ['auth', 'login', '--profile', 'kept', '--with-api-key', '--json', '--no-verify']
    const refused = await run(login, profile, {
      stdin: 'a-key',
      env: { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' },
    })
    expect(refused).to.include({ exitCode: 4, stdout: '' })
    const kept = await run([...login, '--insecure-storage'], profile, { stdin: 'a-key' })
    expect(JSON.parse(kept.stdout)).to.include({ kind: 'api_key', storage: 'file' })
  },
  'auth:login verify': async () => {
    const login = ['auth', 'login', '--profile', 'kept', '--with-api-key', '--insecure-storage']
    const asked = await run(login, failing(401, 'unauthorized', 'no'), { stdin: 'a-key' })
    expect(asked).to.include({ exitCode: 4 })
    expect(asked.requests).to.have.length(1)
    const unasked = await run([...login, '--no-verify'], failing(401, 'unauthorized', 'no'), {
      stdin: 'a-key',
    })
    expect(unasked).to.include({ exitCode: 0 })
    expect(unasked.requests).to.deep.equal([])
  },
  'auth:login web': async () => {
    const login = ['auth', 'login', '--profile', 'kept', '--web']
    expect(await run(login)).to.include({ exitCode: 3 })
    expect(await run([...login, '--with-api-key'])).to.include({ exitCode: 2 })
  },
  'auth:logout all, yes': async () => {
    const login = ['auth', 'login', '--with-api-key', '--insecure-storage', '--no-verify', '--profile']
    for (const name of ['one', 'two']) await run([...login, name], profile, { stdin: 'a-key' })
    expect(await runHere(['auth', 'logout', '--all'])).to.include({ exitCode: 3 })
    const { stdout } = await runHere([
      'auth',
      'logout',
      '--all',
      '--yes',
      '--jq',
      '.[] | select(.signed_out).profile',
    ])
    expect(stdout.split('\n')).to.include.members(['one', 'two'])
  },
}

const tests = join(import.meta.dirname, '../..')
const otherTests = globSync('**/*.test.ts', { cwd: tests })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path !== 'cli/flags/flags.test.ts')
  .map((path) => ({ path, text: readFileSync(join(tests, path), 'utf8') }))

/** Whether another test runs the command, or covers its topic, and uses the flag. */
function isTriedElsewhere(id: string, flag: string): boolean {
  const words = id.split(':')
  const calls = new RegExp(`'${words.join("', '")}'|${words.join(' ')} `)
  const gives = new RegExp(`--(no-)?${flag}(?![\\w-])`)
  return otherTests.some(
    ({ path, text }) => (calls.test(text) || path.startsWith(`${words[0]}/`)) && gives.test(text),
  )
}

describe('command flags', function () {
  this.timeout(60_000)
  flags.cleanUp()

  it('are all tested, here or in another test that runs the command with the flag', () => {
    const tried = new Set([
      ...additions.map(({ name }) => name),
      ...Object.keys(others).flatMap((name) => {
        const [command, ...names] = name.split(/,? /)
        return names.map((flag) => `${command} ${flag}`)
      }),
    ])
    const declared = commands.flatMap(({ id, flags: own }) =>
      Object.values(own)
        .filter(({ helpGroup }) => helpGroup !== 'GLOBAL')
        .map(({ name, summary }) => ({ id, name, summary })),
    )
    const isTried = ({ id, name }: { id: string; name: string }) =>
      tried.has(`${id} ${name}`) || isTriedElsewhere(id, name)
    // Flags with the same summary are one declaration that several commands share.
    const isSame = (one: (typeof declared)[number]) => (other: typeof one) =>
      other.name === one.name && other.summary === one.summary
    const untried = declared.filter((flag) => !isTried(flag) && !declared.filter(isSame(flag)).some(isTried))
    expect(untried).to.deep.equal([])
    const all = declared.map(({ id, name }) => `${id} ${name}`)
    expect([...tried].filter((flag) => !all.includes(flag))).to.deep.equal([])
  })

  for (const { name, to, words, files = {}, stdin = '', ...adds } of additions) {
    it(`change the request: ${name}`, async () => {
      for (const [path, text] of Object.entries(files)) file(path, text)
      const args = to.split(' ')
      const [without, given] = [await run(args), await run([...args, ...words], undefined, { stdin })]
      const [before, after] = [without.requests[0], given.requests[0]]
      expect(after, given.stderr).not.to.equal(undefined)
      if (adds.body) {
        expect(JSON.parse(after?.body ?? '')).to.deep.include(adds.body)
        expect(JSON.parse(before?.body || '{}')).not.to.deep.include(adds.body)
      }
      if (adds.query) expect(after?.path).to.equal(`${before?.path}?${adds.query}`)
      if (adds.headers) expect(after?.headers).to.include(adds.headers)
    })
  }

  for (const [name, check] of Object.entries(others)) it(`have an effect: ${name}`, check)
})
