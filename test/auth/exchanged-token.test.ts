import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { refusing } from '../support/authorization-server.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { tokensSeen } from '../support/handlers/bearer.ts'
import { perSuite } from '../support/lifetime.ts'
import { plantSignIn } from '../support/plant-sign-in.ts'
import { type HostOptions, runChatctl, startChatctl } from '../support/run-chatctl.ts'
import { makeKey, serveInProcess } from '../support/run-service.ts'
import { createSandbox } from '../support/sandbox.ts'
import { answer } from '../support/scripted-server.ts'
import { makeSignInWorld } from '../support/sign-in-world.ts'
import { until } from '../support/until.ts'

const key = 'long/lived+key'

describe('a token with fewer permissions', function () {
  this.timeout(30_000)
  const sandbox = perSuite(createSandbox)
  const service = perSuite(() => serveInProcess(sandbox))
  let apiKey: string
  before(async () => {
    apiKey = await makeKey(sandbox)
  })
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    runChatctl(sandbox, args, { env: { CHATCTL_BASE_URL: service.url, CHATCTL_API_KEY: apiKey, ...env } })
  const token = (...args: string[]) => run(['auth', 'token', ...args])

  it('is printed by auth token, and has only the given permissions', async () => {
    const { stdout, stderr } = await token('--permission', 'read:chat', '--for', '10m', '--json')
    expect(stderr).to.equal('')
    const shown = JSON.parse(stdout)
    expect(Object.keys(shown)).to.deep.equal(['token', 'kind', 'expires_at'])
    expect(shown.kind).to.equal('oauth')
    expect(Date.parse(shown.expires_at) - Date.now()).to.be.within(590_000, 600_000)
    const as = { CHATCTL_API_KEY: shown.token }
    expect(await run(['chat', 'models'], as)).to.include({ exitCode: 0, stderr: '' })
    expectFailure(await run(['chat', 'send', 'Hi', '--no-save'], as), 5, 'write:chat')
    expectFailure(await run(['auth', 'token', '--for', '1m'], as), 4, 'this token cannot be exchanged again')
  })

  it('is checked before it is requested, and its refusal says why', async () => {
    expectFailure(await token('--permission', 'read'), 2, '"read" is not ACTION:RESOURCE')
    expectFailure(await token('--for', 'long'), 2, '"long" is not a duration')
    expectFailure(await token('--for', '24h'), 4, 'must be 1 to 43200 seconds (12 hours)')
    expectFailure(await token('--permission', 'read:x'), 4, 'unknown scope or permission read:x')
    for (const args of [
      ['auth', 'token', '--for', '1h'],
      ['exec', '--', 'env'],
    ]) {
      const local = { CHATCTL_BASE_URL: '', CHATCTL_API_KEY: '' }
      expectFailure(await run(args, local), 2, 'chatctl service run', 'chatctl auth login --base-url')
    }
  })

  it('is in the environment of the program of chatctl exec, and ends with the program', async () => {
    const file = join(sandbox.home, 'environment')
    const write =
      'fs.writeFileSync(process.argv[1], JSON.stringify({ ...process.env, words: process.argv.slice(2) }))'
    const env = {
      ...{
        COPY: `Bearer ${apiKey}`,
        OPENAI_API_KEY: 'another',
        CHATCTL_ID_TOKEN: 'x',
        CHATCTL_OIDC: 'env:MINE',
        chatctl_api_key_file: 'name-on-windows',
      },
      ...{
        CHATCTL_SEAL_KEY: 'seal',
        CHATCTL_DATABASE: 'postgres://u:p@h/d',
        OPENAI_API_BASE: 'https://another',
      },
      ...{ MINE: 'identity', KEPT: 'kept', CHATCTL_BASE_URL: `${service.url}/` },
    }
    const words = ['-q', '', '--', '--json', '$HOME']
    for (const option of ['approvers=/nowhere', 'save=off', 'alias.fast=m', 'model=fast'])
      await run(['config', 'set', option, '-p', 'work'])
    const exec = [
      ...'exec -p work --permission read:chat --'.split(' '),
      process.execPath,
      '-e',
      write,
      file,
      ...words,
    ]
    expect(await run(exec, env)).to.deep.equal({ exitCode: 0, stdout: '', stderr: '' })
    const text = readFileSync(file, 'utf8')
    expect(text).not.to.contain(apiKey)
    const given = JSON.parse(text)
    expect(given).to.include({ KEPT: 'kept', CHATCTL_BASE_URL: `${service.url}/`, MINE: 'identity' })
    expect(given).to.include({
      OPENAI_API_KEY: given.CHATCTL_API_KEY,
      OPENAI_BASE_URL: `${service.url}/openai/v1`,
    })
    const removed = ['COPY', 'CHATCTL_OIDC', 'CHATCTL_ID_TOKEN', 'chatctl_api_key_file', 'CHATCTL_SEAL_KEY']
    expect(given).not.to.have.any.keys(...removed, 'CHATCTL_DATABASE', 'OPENAI_API_BASE')
    expect(given.words).to.deep.equal(words)
    expect(given.CHATCTL_API_KEY).to.match(/^ct_/)
    // If the program runs chatctl, the options of the profile apply.
    const failed = await run(['settings', 'set', 'app_name=x'], given)
    expectFailure(failed, 3, 'profile work requires approved plans')
    const options = JSON.parse((await run(['config', 'list', '--json'], given)).stdout)
    expect(options.filter(({ key }: { key: string }) => key === 'save' || key === 'model')).to.deep.equal([
      { key: 'model', value: 'm', source: 'profile', from: 'profile work, alias fast' },
      { key: 'save', value: 'off', source: 'profile', from: 'profile work' },
    ])
    expectFailure(await run(['chat', 'models'], { CHATCTL_API_KEY: given.CHATCTL_API_KEY }), 4, '401')
  })
})

describe('the exchange of a credential', () => {
  const world = makeSignInWorld()
  const env = () => ({
    ...{ CHATCTL_BASE_URL: world.service.url, CHATCTL_AUTH_URL: world.server.url, CHATCTL_API_KEY: key },
  })
  const run = (args: readonly string[], options: HostOptions = {}) =>
    runChatctl(world.sandbox, args, { env: env(), ...options })
  const shell = (script: string) => ['exec', '--', 'sh', '-c', script]
  const revoked = () => world.server.revocations.map((form) => form.get('token'))

  it('warns of another scope and another lifetime than requested', async () => {
    world.server.script.token = [world.server.tokens({ scope: 'read:chat write:chat', expires_in: 7200 })]
    const { stdout, stderr } = await run(['auth', 'token', '--permission', 'read:chat', '--for', '1h'])
    expect(stdout).to.equal('access-token-1\n')
    expect(stderr).to.contain('granted "read:chat write:chat" instead of "read:chat"')
    expect(stderr).to.contain('granted the token for 2h instead of 1h')
    const [form] = world.server.tokenRequests
    expect(form?.get('subject_token')).to.equal(key)
    expect([form?.get('requested_expires_in'), form?.get('client_id')]).to.deep.equal(['3600', null])
  })

  it('uses the server and the client of the sign-in, and renews a token that would be too short', async () => {
    plantSignIn(world.sandbox, world)
    const signedIn = { env: {} }
    for (const [lifetime, renewals] of [
      ['1h', 0],
      ['2h', 1],
    ] as const) {
      expect((await run(['auth', 'token', '--for', lifetime], signedIn)).exitCode).to.equal(0)
      expect(world.server.refreshes()).to.have.length(renewals)
    }
    const last = world.server.tokenRequests.at(-1)
    expect(last?.get('subject_token')).to.equal('access-token-3')
    expect(last?.get('client_id')).to.equal(world.server.clientId)
  })

  it('is a clear error at a service without token exchange', async () => {
    world.server.script.token = [refusing('unsupported_grant_type')]
    expectFailure(await run(['auth', 'token', '--for', '1h']), 4, 'does not exchange credentials', 'API key')
    world.server.script.metadata = (document) => ({ ...document, grant_types_supported: ['refresh_token'] })
    expectFailure(await run(shell('exit 0')), 4, 'does not exchange credentials for access tokens')
    expect(world.server.tokenRequests).to.have.length(1)
  })

  it('ends with the program of chatctl exec, whose exit code it has', async () => {
    const text = join(world.sandbox.home, 'text')
    writeFileSync(text, '')
    chmodSync(text, 0o600)
    expect(await run(shell('exit 7'))).to.include({ exitCode: 7, stderr: '' })
    expect(await run(shell('kill -TERM $$'))).to.include({ exitCode: 143, stderr: '' })
    expectFailure(await run(['exec', '--', 'no-such-program']), 127, 'Cannot start "no-such-program"')
    expectFailure(await run(['exec', '--', text]), 126, `Cannot start "${text}": permission denied`)
    expect(revoked()).to.deep.equal([1, 2, 3, 4].map((number) => `access-token-${number}`))
    for (const words of ['env', 'npm -- test', 'npm -q -- run -- x']) {
      const refused = await run(['exec', ...words.split(' ')])
      expectFailure(refused, 2, 'The program must follow --', `chatctl exec -- ${words.split(' ')[0]}`)
    }
    expect(revoked()).to.have.length(4)
    world.server.script.revoke = answer(500)
    const { exitCode, stderr } = await run(shell('exit 5'))
    expect(exitCode).to.equal(5)
    expect(stderr).to.match(/^Warning: The token stays valid until 20.*: The revocation failed/)
    expect(tokensSeen(world.service)).to.deep.equal([])
  })

  it('ends after a signal, which the program receives once', async () => {
    const script =
      'trap "exit 3" INT; trap "exit 4" HUP; trap "exit 5" QUIT; touch $0; for i in $(seq 500); do sleep 0.02; done'
    const start = async (name: string, options: HostOptions = {}) => {
      const running = startChatctl(world.sandbox, [...shell(script), name], { env: env(), ...options })
      await until(() => existsSync(join(world.sandbox.home, name)))
      return running
    }
    for (const [signal, exitCode] of [
      ['SIGHUP', 4],
      ['SIGINT', 3],
      ['SIGQUIT', 5],
      ['SIGTERM', 143],
    ] as const) {
      const running = await start(signal)
      running.interrupt(signal)
      expect((await running.ended).exitCode, signal).to.equal(exitCode)
    }
    const inTerminal = await start('terminal', { terminal: { columns: 80 } })
    // The terminal itself sends these two to the program.
    inTerminal.interrupt('SIGINT')
    inTerminal.interrupt('SIGQUIT')
    inTerminal.interrupt('SIGHUP')
    expect((await inTerminal.ended).exitCode).to.equal(4)
    expect(revoked()).to.have.length(5)
  })

  it('ends although a signal arrives during its revocation', async () => {
    const running = startChatctl(world.sandbox, shell('exit 7'), { env: env() })
    world.server.script.revoke = (...exchange) => {
      running.interrupt('SIGTERM')
      return answer(200)(...exchange)
    }
    expect((await running.ended).stderr).to.equal('')
  })
})
