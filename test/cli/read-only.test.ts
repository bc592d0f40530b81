import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { files } from '../docs/example-tables.ts'
import { someCells } from '../support/cells.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { fingerprint } from '../support/fingerprint.ts'
import { perSuite } from '../support/lifetime.ts'
import { commands, exampleWords } from '../support/manifest.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { makeKey, serveInProcess } from '../support/run-service.ts'
import { createSandbox } from '../support/sandbox.ts'
import { type Behavior, startScriptedServer } from '../support/scripted-server.ts'

/** Sends a request to the service. */
function forwardTo(service: { url: string }): Behavior {
  return async ({ method, path, headers: { authorization = '' }, body }, response) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const answered = await fetch(service.url + path, { method, headers, body: body || null })
    response.writeHead(answered.status, { 'content-type': answered.headers.get('content-type') ?? '' })
    response.end(await answered.text())
  }
}

const refusal = (what: string, from = 'CHATCTL_READ_ONLY'): string =>
  `${what} is refused, because read-only mode is on (${from})`

describe('read-only mode', function () {
  this.timeout(60_000)
  const otherMachine = perSuite(createSandbox)
  const service = perSuite(
    () => serveInProcess(otherMachine),
    (started) => started.stop(),
  )
  const proxy = perSuite(() => startScriptedServer(forwardTo(service)))
  const sandbox = perSuite(createSandbox)
  let key: string
  /** The commands that only read, one per line. */
  let reading: string

  const run = (line: string | readonly string[], env: NodeJS.ProcessEnv = {}, stdin = '') => {
    const mode = { CHATCTL_BASE_URL: proxy.url, CHATCTL_API_KEY: key, CHATCTL_READ_ONLY: '1' }
    const words = typeof line === 'string' ? line.split(' ').filter(Boolean) : line
    return runChatctl(sandbox, words, { env: { ...mode, ...env }, stdin })
  }
  const local = { CHATCTL_BASE_URL: '', CHATCTL_API_KEY: '', CHATCTL_PROFILE: 'local' }
  const succeed = async (...given: Parameters<typeof run>) => {
    const { exitCode, stdout, stderr } = await run(...given)
    expect(exitCode, stderr).to.equal(0)
    return stdout
  }
  /** Files that no flag names, without the index of transcripts, which is a cache. */
  const ownFiles = () => {
    const all = Object.entries(fingerprint(sandbox.home))
    return all.filter(([path]) => path.startsWith('.') && !path.endsWith('mirrors/sessions.db'))
  }

  before(async () => {
    key = await makeKey(otherMachine)
    for (const [name, text] of Object.entries(files)) writeFileSync(join(sandbox.home, name), text)
    const guarded = { base_url: proxy.url, read_only: 'on' }
    const outdated = { read_only: 'on', timeout: 'soon' }
    const profiles = { work: {}, guarded, outdated, misspelled: { read_only: 'yes' } }
    mkdirSync(join(sandbox.home, '.config/chatctl'), { recursive: true })
    mkdirSync(join(sandbox.home, 'checkout'))
    const configuration = JSON.stringify({ profiles, directories: { '~/checkout': 'outdated' } })
    writeFileSync(join(sandbox.home, '.config/chatctl/config.json'), configuration)
    const off = { ...local, CHATCTL_READ_ONLY: '' }
    const login = `auth login -p signed-in --base-url ${proxy.url} --with-api-key --insecure-storage`
    await succeed(login, { ...off, CHATCTL_PROFILE: '' }, key)
    await succeed('chat send Hello', off)
    reading = await succeed(['commands', '--jq', '.[] | select(.effect == "reads").name'], off)
  })
  beforeEach(() => {
    proxy.requests.length = 0
  })

  for (const entry of commands.filter(({ hidden, id }) => !hidden && id !== 'api'))
    it(`refuses a change, and sends only GET requests: the examples of ${entry.id}`, async () => {
      const name = entry.id.replaceAll(':', ' ')
      const before = ownFiles()
      for (const line of someCells(exampleWords(entry).slice(0, 2), (_, index) => index === 0)) {
        const words = line.filter((word) => word !== '--dry-run')
        const ended = { ...(await run(words, { CHATCTL_JSON: '1' })), requests: proxy.requests }
        const isExchange = name === 'auth token' && words.includes('--permission')
        const message = refusal(isExchange ? 'The token exchange' : `chatctl ${name}`)
        const error = { code: 'read_only', message }
        // A session has only text output.
        const stderr = name === 'chat' ? `Error: ${error.message}\n` : `${JSON.stringify({ error })}\n`
        if (reading.split('\n').includes(name) && !isExchange) expect(ended.stderr).not.to.match(/read.only/)
        else expect(ended).to.deep.equal({ exitCode: 2, stdout: '', stderr, requests: [] })
      }
      expect(proxy.requests.filter(({ method }) => method !== 'GET')).to.deep.equal([])
      expect(ownFiles()).to.deep.equal(before)
    })

  it('lets GET and HEAD through, and refuses every other method of chatctl api', async () => {
    for (const method of ['GET', 'HEAD']) await succeed(`api ${method} /v1/settings`)
    const post = 'api POST /api/chat/send --field message=Hello'
    for (const env of [{}, local]) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'Post']) {
        const stderr = `Error: ${refusal(`The ${method.toUpperCase()} request`)}\n`
        expect(await run(post.replace('POST', method), env)).to.deep.include({ exitCode: 2, stderr })
      }
    }
    await succeed(post, { CHATCTL_READ_ONLY: '0' })
    expect(proxy.requests.map(({ method }) => method)).to.deep.equal(['GET', 'HEAD', 'POST'])
  })

  const isRefused = async (line: string, env: NodeJS.ProcessEnv, what: string, from?: string) =>
    expectFailure(await run(line, env), 2, refusal(what, from))

  it('refuses a message without a command, and shows what a dry run would send or change', async () => {
    expectFailure(await run(['What is a write-ahead log?']), 2, refusal('chatctl chat send'))
    expectFailure(await run('auth token --permission read:chat'), 2, refusal('The token exchange'))
    expect(await succeed('users update u1 --name Ada --dry-run')).to.contain('PATCH')
    expect(await succeed('api POST /v1/x --dry-run')).to.contain('POST')
    expect(await succeed('config set read_only off --dry-run')).to.contain('read_only')
    expect(proxy.requests).to.deep.equal([])
  })

  it('changes no help, version, or completion', async () => {
    for (const line of ['', '--version', 'users create --help', 'complete -- config set read_only o']) {
      const shown = await succeed(line)
      expect(shown).to.match(/chatctl|^off\non$/m)
      expect(await succeed(line, { CHATCTL_READ_ONLY: '' })).to.equal(shown)
    }
  })

  const ofProfile = (profile: string, value = '') => {
    return { CHATCTL_BASE_URL: '', CHATCTL_PROFILE: profile, CHATCTL_READ_ONLY: value }
  }

  it('of a profile is turned off by no command or variable, and applies to no other profile', async () => {
    const from = 'profile guarded'
    const before = ownFiles()
    for (const env of ['', '0', 'Off', 'FALSE', 'no'].map((value) => ofProfile('guarded', value))) {
      await isRefused('config set read_only off', env, 'chatctl config set', from)
      await isRefused('config unset read_only', env, 'chatctl config unset', from)
      await isRefused('api POST /x', env, 'The POST request', from)
      expect(await succeed('config list -o tsv', env)).to.contain(`\nread_only\ton\tprofile\t${from}\n`)
      await succeed('settings get', env)
    }
    expect(ownFiles()).to.deep.equal(before)
    await succeed('config set model x', ofProfile('work'))
  })

  it('is not off because a value is invalid', async () => {
    for (const name of ['outdated', 'misspelled']) {
      await isRefused('config set read_only off', ofProfile(name), 'chatctl config set', `profile ${name}`)
      await succeed('config path', ofProfile(name))
    }
    const inDirectory = { cwd: join(sandbox.home, 'checkout') }
    for (const line of [
      'config set read_only off',
      'config unset directory.~/checkout',
      'config set model x',
    ]) {
      const refused = await runChatctl(sandbox, line.split(' '), inDirectory)
      expectFailure(refused, 2, 'read-only mode is on (profile outdated)')
    }
    expectFailure(await run('settings get', ofProfile('misspelled')), 2, 'read_only: "yes" is neither on nor')
    for (const line of ['settings get', 'settings set app_name=x', 'config set model x', 'doctor', 'chat'])
      expectFailure(await run(line, { CHATCTL_READ_ONLY: 'ja' }), 2, 'CHATCTL_READ_ONLY: "ja" is not 1, 0,')
  })
})
