import { expect } from 'chai'
import { refusing, startAuthorizationServer } from '../../support/authorization-server.ts'
import { expectNothingStored, readCredential, readProfiles } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { type HostOptions, type Run, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  answer,
  type Behavior,
  json,
  limited,
  reset,
  type ScriptedServer,
  silent,
  startScriptedServer,
  stream,
  webPage,
} from '../../support/scripted-server.ts'
import { loginFlags } from '../../support/sign-in.ts'
import { SkippingClock } from '../../support/stepped-clock.ts'
import { until } from '../../support/until.ts'

const uri = 'https://login.example/device'

/** The response of the example in RFC 8628 section 3.2. */
const code = {
  device_code: 'canary-device-code',
  user_code: 'WDJB-MJHT',
  verification_uri: uri,
  verification_uri_complete: `${uri}?user_code=WDJB-MJHT`,
  expires_in: 1800,
  interval: 5,
}

const pending = refusing('authorization_pending')

describe('auth login --device', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  let service: ScriptedServer
  let clock: SkippingClock
  beforeEach(async () => {
    clock = new SkippingClock()
    service = await startBearerService((token) => server.live.has(token))
    server.script.device = json(200, code)
  })
  afterEach(() => service.close())

  const args = (...more: string[]) => ['auth', 'login', ...loginFlags({ server, service }), ...more]

  const signIn = (more: string[] = [], { host, ...options }: HostOptions = {}): Promise<Run> =>
    runChatctl(sandbox, args('--device', ...more), { host: { clock, ...host }, ...options })

  /** Expects a failure that leaves nothing, and never shows the device code. */
  async function fail(exitCode: number, words: (string | RegExp)[], more?: string[]): Promise<Run> {
    const run = await signIn(more)
    expectFailure(run, exitCode, ...words)
    expect(run.stderr).not.to.contain('canary')
    expectNothingStored(sandbox)
    return run
  }

  it('shows the address and the code, polls, and stores the tokens', async () => {
    server.script.token = [pending, pending, server.tokens({ scope: 'chat:read' })]
    const run = await signIn(['--scope', 'chat:read'])
    expect(run.exitCode, run.stderr).to.equal(0)
    expect(run.stderr).to.equal(
      [
        'To sign in, open this URL on any device:',
        uri,
        'Enter this code there: WDJB-MJHT',
        'Or open the URL that contains the code:',
        `${uri}?user_code=WDJB-MJHT`,
        'Waiting up to 15m until you have signed in.',
        'Warning: The credential is stored unencrypted in a file. Anyone who can read your files can use it.',
        '',
      ].join('\n'),
    )
    expect(run.stdout).to.contain('kind\toauth\n')
    expect(server.live).to.include(readCredential(sandbox).access_token)
    expect(clock.sleeps).to.deep.equal([5, 5, 5])
    const found = server.deviceRequests.map((form) => Object.fromEntries(form))
    expect(found).to.deep.equal([{ scope: 'chat:read', client_id: server.clientId }])
    expect(server.tokenRequests.map((form) => Object.fromEntries(form))).to.deep.equal(
      Array.from({ length: 3 }, () => ({
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: code.device_code,
        client_id: server.clientId,
      })),
    )
    expect(server.authorizations).to.deep.equal([])
    expect(readProfiles(sandbox).profiles?.['work']).to.include({ auth_url: server.url })
  })

  it('prints one line with the code and one with the result with --json, and nothing else', async () => {
    server.script.device = json(200, { ...code, verification_uri_complete: undefined, interval: undefined })
    const { exitCode, stdout, stderr } = await signIn(['--json'])
    expect(exitCode, stderr).to.equal(0)
    const [first, second, ...rest] = stdout.split('\n')
    expect(rest).to.deep.equal([''])
    expect(JSON.parse(first ?? '')).to.deep.equal({
      user_code: 'WDJB-MJHT',
      verification_uri: uri,
      verification_uri_complete: null,
      expires_in: 1800,
      interval: 5,
    })
    expect(JSON.parse(second ?? '')).to.include({ profile: 'work', kind: 'oauth', verified: true })
    for (const line of stderr.trimEnd().split('\n')) expect(JSON.parse(line)).to.have.property('warning')
    expect(stdout + stderr).not.to.contain('canary')
  })

  it('prints the address and the code also with --quiet', async () => {
    const { exitCode, stderr } = await signIn(['--quiet'])
    expect(exitCode).to.equal(0)
    expect(stderr).to.contain(uri).and.to.contain('WDJB-MJHT').and.not.to.contain('Waiting')
  })

  it('polls more slowly after slow_down, and after failures of the network until one succeeds', async () => {
    const [slowDown, down] = [refusing('slow_down'), answer(503)]
    server.script.token = [slowDown, pending, slowDown, reset, down, limited(), pending, server.tokens()]
    expect(await signIn()).to.include({ exitCode: 0 })
    expect(clock.sleeps).to.deep.equal([5, 10, 10, 15, 30, 60, 120, 15])
  })

  it('exits 69 after five consecutive failures of the network', async () => {
    server.script.token = [pending, answer(500, { 'content-type': 'text/html' }, '<h1>canary</h1>')]
    await fail(69, ['500'])
    expect(server.tokenRequests).to.have.length(6)
  })

  for (const [what, interval, expected] of [
    ['of 7 s', 7, 7],
    ['that is missing', undefined, 5],
  ] as const)
    it(`waits ${expected} s with an interval ${what}`, async () => {
      server.script.device = json(200, { ...code, interval })
      expect(await signIn()).to.include({ exitCode: 0 })
      expect(clock.sleeps).to.deep.equal([expected])
    })

  for (const [what, fields, flags, message, seconds] of [
    ['the code expires', { expires_in: 12 }, [], 'The code expired', 12],
    ['--wait has passed', {}, ['--wait', '12s'], 'not completed within 12 s', 12],
    ['15 minutes have passed', { interval: 60 }, [], 'not completed within 15 min', 900],
    ['the interval is longer than the wait', { interval: 1e12 }, [], 'not completed within 15 min', 900],
  ] as const)
    it(`exits 4 when ${what}`, async () => {
      server.script.device = json(200, { ...code, ...fields })
      server.script.token = [pending]
      const { stderr } = await fail(4, [message, 'Run the same command again'], [...flags])
      expect(stderr).to.contain('WDJB-MJHT')
      expect(clock.monotonic()).to.equal(seconds * 1_000)
    })

  it('polls a last time at the end of --wait, and signs in if the user has agreed by then', async () => {
    server.script.token = [pending, pending, server.tokens()]
    expect(await signIn(['--wait', '12s'])).to.include({ exitCode: 0 })
    expect(clock.sleeps).to.deep.equal([5, 5, 2])
  })

  it('exits 69 if the last poll gets no response, because the user may have agreed', async () => {
    server.script.token = [answer(503)]
    await fail(69, ['503', 'Run the same command again'], ['--wait', '3s'])
    expect(server.tokenRequests).to.have.length(1)
  })

  const atPoll: [string, number, Behavior, ...(string | RegExp)[]][] = [
    [
      'access_denied',
      4,
      refusing('access_denied', 'Ada \u001b[31mno'),
      'denied the sign-in: access_denied: Ada',
    ],
    ['expired_token', 4, refusing('expired_token'), 'The code expired'],
    ['invalid_grant', 4, refusing('invalid_grant'), 'invalid_grant'],
    ['a web page', 1, webPage, 'not JSON'],
  ]
  for (const [what, exitCode, behavior, ...words] of atPoll)
    it(`exits ${exitCode} immediately if the token endpoint responds with ${what}`, async () => {
      server.script.token = [pending, behavior]
      expect((await fail(exitCode, words)).stderr).not.to.contain('\u001b')
      expect(server.tokenRequests).to.have.length(2)
      expect(service.requests).to.deep.equal([])
    })

  const atStart: [string, number, Behavior, ...(string | RegExp)[]][] = [
    ['500', 69, answer(500, {}, 'canary'), '500'],
    ['invalid_client', 4, refusing('invalid_client'), 'invalid_client'],
    [
      'invalid_scope',
      4,
      refusing('invalid_scope', 'no admin'),
      'no admin',
      'Request another scope with --scope, or sign in',
    ],
    ['a web page', 1, webPage, 'not JSON', 'device authorization endpoint'],
    ['no device code', 1, json(200, { ...code, device_code: undefined })],
    ['a user code with controls', 1, json(200, { ...code, user_code: 'A\u001b]0;x\u0007B' }), 'user code'],
    ['a reversed user code', 1, json(200, { ...code, user_code: 'A\u202eB' }), 'user code'],
    ['no address', 1, json(200, { ...code, verification_uri: undefined })],
    ...[
      ...'http://login.example/device javascript:alert(1) file:///etc/passwd'.split(' '),
      'not a URL',
      'https://bank.example@evil.example/device',
      `https://login.example/${'x'.repeat(2048)}`,
    ].map((address): [string, number, Behavior, string] => [
      `the address ${address.slice(0, 50)}`,
      1,
      json(200, { ...code, verification_uri: address }),
      'unsafe address',
    ]),
  ]
  for (const [what, exitCode, behavior, ...words] of atStart)
    it(`exits ${exitCode} if the device authorization endpoint responds with ${what}`, async () => {
      server.script.device = behavior
      const { stderr } = await fail(exitCode, words)
      expect(stderr).not.to.contain('\u001b').and.not.to.contain('open this URL')
      expect(server.tokenRequests).to.deep.equal([])
    })

  it('omits an unsafe address with the code', async () => {
    const complete = 'http://evil.example/?user_code=WDJB-MJHT'
    server.script.device = json(200, { ...code, verification_uri_complete: complete })
    const { exitCode, stdout } = await signIn(['--json'])
    expect(exitCode).to.equal(0)
    const [shown = ''] = stdout.split('\n')
    expect(JSON.parse(shown)).to.include({ verification_uri: uri, verification_uri_complete: null })
  })

  for (const [what, behavior] of [
    ['nothing', silent],
    ['one byte after another', stream(Array(1000).fill(' '), { pause: 50 })],
  ] as const)
    it(`exits 69 if the device authorization endpoint sends ${what}, after --timeout`, async () => {
      server.script.device = behavior
      await fail(69, ['300 ms'], ['--timeout', '300ms'])
    })

  it('exits 2 if the server does not offer it, and names the alternatives', async () => {
    server.script.device = undefined
    await fail(2, ['does not offer', '--no-browser', '--with-api-key'])
    await fail(
      2,
      ['does not offer', 'the metadata is not read'],
      ['--token-url', `${server.url}/oauth/token`],
    )
  })

  it('exits 2 if the endpoint in the metadata is not safe', async () => {
    server.script.metadata = (document) => ({
      ...document,
      device_authorization_endpoint: 'http://x.example/d',
    })
    await fail(2, ['does not offer'])
  })

  it('revokes the tokens if they cannot be stored or are refused', async () => {
    await service.close()
    service = await startBearerService(() => false)
    await fail(4, [])
    expect(server.revocations).to.have.length(1)
  })

  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    it(`exits ${exitCode} on ${signal} while it waits or polls, and leaves nothing`, async () => {
      const waiting = startChatctl(sandbox, args('--device'), {})
      await until(() => waiting.written().stderr.includes('Waiting'))
      server.script.token = [silent]
      const polling = startChatctl(sandbox, args('--device'), { host: { clock } })
      await until(() => server.tokenRequests.length > 0)
      for (const running of [waiting, polling]) {
        running.interrupt(signal)
        const { exitCode: actual, stdout, stderr } = await running.ended
        expect({ actual, stdout }).to.deep.equal({ actual: exitCode, stdout: '' })
        expect(stderr).not.to.match(/Error:|bug/)
      }
      expectNothingStored(sandbox)
    })

  describe('without a display', () => {
    const start = (more: string[], options: HostOptions = {}) =>
      startChatctl(sandbox, args(...more), {
        ...options,
        host: { clock, hasDisplay: false, ...options.host },
      })

    it('is used if the server offers it', async () => {
      const running = start([])
      running.stdin.end()
      const { exitCode, stderr } = await running.ended
      expect(exitCode, stderr).to.equal(0)
      expect(stderr).to.contain('Enter this code there: WDJB-MJHT')
      expect(server.authorizations).to.deep.equal([])
    })

    for (const [what, behavior, reason] of [
      ['this client', refusing('unauthorized_client'), 'unauthorized_client'],
      ['the scope', refusing('invalid_scope', 'no admin'), 'no admin'],
      ['the request without a reason', answer(404), '404'],
    ] as const)
      it(`signs in with the browser if the server refuses ${what}`, async () => {
        server.script.device = behavior
        const openBrowser = async () => expect.fail('a browser was opened on a machine without a display')
        const running = start([], { host: { openBrowser } })
        await until(() => /oauth\/authorize/.test(running.written().stderr))
        expect(running.written().stderr).to.contain('No code for another device').and.to.contain(reason)
        running.interrupt('SIGTERM')
        await running.ended
      })

    it('exits 69 if the server does not respond', async () => {
      server.script.device = reset
      expectFailure(await start([]).ended, 69)
      expect(server.authorizations).to.deep.equal([])
    })

    it('shows with --dry-run what it would try', async () => {
      const { stdout } = await start(['--dry-run']).ended
      expect(stdout).to.contain('sign_in.with\ta code on any device, or the browser')
    })

    for (const [what, flags, offered] of [
      ['with --web', ['--web'], true],
      ['with --no-browser', ['--no-browser'], true],
      ['with --redirect-port', ['--redirect-port', '0'], true],
      ['with JSON output', ['--json'], true],
      ['if the server does not offer it', [], false],
    ] as const)
      it(`is not used ${what}`, async () => {
        if (!offered) server.script.device = undefined
        const running = start([...flags], { host: { openBrowser: async () => false } })
        await until(() => /oauth\/authorize/.test(running.written().stderr))
        expect(server.deviceRequests).to.deep.equal([])
        running.interrupt('SIGTERM')
        await running.ended
      })
  })

  describe('in a terminal', () => {
    const inTerminal = async (more: string[], columns: number, env: NodeJS.ProcessEnv = {}) => {
      const host = { clock }
      const options = { host, terminal: { columns }, env: { TERM: 'xterm-256color', ...env } }
      return (await runChatctl(sandbox, args('--device', ...more), options)).stdout
    }
    const clipboard = `\u001b]52;c;${Buffer.from(code.user_code).toString('base64')}\u0007`

    it('sends the code to the clipboard, and claims no more than that', async () => {
      const shown = await inTerminal([], 80)
      expect(shown).to.contain(clipboard)
      expect(shown).to.contain('The code is also on the clipboard if your terminal allows it (OSC 52).')
    })

    it('sends no code to the clipboard that a shell would run', async () => {
      server.script.device = json(200, { ...code, user_code: '$(touch x);#' })
      expect(await inTerminal([], 80))
        .to.contain('$(touch x);#')
        .and.not.to.contain('\u001b]52')
    })

    for (const [what, flags, env] of [
      ['in CI', [], { CI: 'true' }],
      ['in a dumb terminal', [], { TERM: 'dumb' }],
      ['on the Linux console', [], { TERM: 'linux' }],
      ['with --quiet', ['--quiet'], {}],
      ['with --json', ['--json'], {}],
    ] as const)
      it(`sends nothing to the clipboard ${what}`, async () => {
        const shown = await inTerminal([...flags], 80, env)
        expect(shown).not.to.contain('\u001b]52').and.not.to.contain('clipboard')
      })

    it('draws a QR code that fits 40 columns, black on white only with color', async () => {
      const drawn = /^(?:[█▀▄ ]{25,40}\n)+/m
      expect(await inTerminal(['--qr', '--no-color'], 40))
        .to.match(drawn)
        .and.not.to.contain('\u001b[')
      expect(await inTerminal(['--qr'], 40)).to.contain('\u001b[97;40m█')
    })

    it('says how much room a QR code needs if it does not fit', async () => {
      const shown = (await inTerminal(['--qr'], 20)).replaceAll('\n', ' ')
      expect(shown).to.match(/The QR code needs \d\d columns, and the terminal has 20/)
      expect(shown).to.contain(code.user_code)
    })

    it('refuses --qr with JSON output', async () => {
      expect(await inTerminal(['--qr', '--json'], 80)).to.contain('--qr cannot be used with JSON output')
      expect(server.deviceRequests).to.deep.equal([])
    })
  })

  it('refuses --qr without a terminal before anything is sent', async () => {
    await fail(2, ['--qr cannot be used if stderr is not a terminal'], ['--qr'])
    expect(server.deviceRequests).to.deep.equal([])
  })

  for (const [flag, ...value] of [
    ['--web'],
    ['--with-api-key'],
    ['--no-browser'],
    ['--no-pkce'],
    ['--redirect-port', '8400'],
  ] as [string, ...string[]][])
    it(`refuses ${flag}`, () => fail(2, [`--device and ${flag} cannot be used together`], [flag, ...value]))

  it('shows with --dry-run what it would do', async () => {
    const run = await signIn(['--dry-run', '--json'])
    expect(JSON.parse(run.stdout).sign_in).to.include({ with: 'a code on any device', storage: 'file' })
    expect(server.deviceRequests).to.deep.equal([])
  })
})

it('auth login asks no question with --device if stdin is not a terminal', async () => {
  using sandbox = createSandbox()
  await using server = await startScriptedServer(answer(404))
  expectFailure(
    await runChatctl(sandbox, ['auth', 'login', '--device', '--base-url', server.url, '--insecure-storage']),
    3,
    '--auth-url',
  )
})
