import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { binary, collectOutput, type Run, startBuilt } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'
import { servedMessages } from '../../support/served-messages.ts'
import { describeSample } from '../../support/take-sample.ts'

describeSample('when stdin is closed or is /dev/null', 1, () => {
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() =>
    startScriptedServer(json(200, { id: 'm1', response: 'Hi', context_id: 'c1' })),
  )
  let env: NodeJS.ProcessEnv
  before(() => {
    env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'test-key' }
  })

  for (const args of [
    ['chat', 'send', 'Hello'],
    ['users', 'create'],
    ['settings', 'set', 'app_name=-'],
  ]) {
    it(`chatctl ${args.join(' ')} exits with the same code in both cases`, async function () {
      if (process.platform === 'win32') return this.skip()
      const closed = spawn('sh', ['-c', 'exec "$@" <&-', 'sh', process.execPath, binary, ...args], {
        env: { ...sandbox.env, ...env },
        stdio: ['inherit', 'ignore', 'ignore'],
      })
      const device = spawn(process.execPath, [binary, ...args], {
        env: { ...sandbox.env, ...env },
        stdio: [openSync('/dev/null', 'r'), 'ignore', 'ignore'],
      })
      const [one, two] = await Promise.all([endOf(closed), endOf(device)])
      // 7: this service does not apply the change.
      expect(one).to.be.oneOf([0, 2, 3, 7])
      expect(two).to.equal(one)
    })
  }
})

/** The exit code, or null if the process had to be killed. */
async function endOf(child: ChildProcess): Promise<number | null> {
  const timer = setTimeout(() => child.kill('SIGKILL'), 40_000)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  return code
}

describe('stdout', () => {
  const server = perSuite(() => startScriptedServer(json(200, { id: 'u1', name: 'Ada' })))
  const sandbox = perSuite(createSandbox)
  before(async function () {
    if (process.platform !== 'linux') return this.skip()
  })
  beforeEach(() => {
    server.requests.length = 0
  })

  const node = [process.execPath, binary] as const

  /** Runs the words in a shell, which stays their parent process, with the redirections of the line. */
  function inShell(line: string, words: readonly string[]): Promise<Run> {
    const env = { ...sandbox.env, CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'test-key' }
    const child = spawn('/bin/sh', ['-c', `${line}; exit $?`, 'sh', ...words], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const run = collectOutput(child)
    return new Promise((resolve) => child.once('close', (exitCode) => resolve({ ...run, exitCode })))
  }

  it('users get fails if stdout is open for reading only', async () => {
    const { exitCode, stderr } = await inShell('"$@" 1</dev/zero', [...node, 'users', 'get', 'u1'])
    expect(exitCode).to.equal(1)
    expect(stderr).to.contain('Cannot write to stdout: EBADF')
  })
})

describeSample('chat send while stdin is open and empty', 1, () => {
  const { sandbox, env, sent } = servedMessages()

  for (const [flags, line] of [
    [[], 'Waiting for the text on stdin…\n'],
    [['--json'], '{"notice":{"message":"Waiting for the text on stdin…"}}\n'],
    [['--quiet'], ''],
  ] as const)
    it(`prints one notice after two seconds, or none with --quiet: ${flags}`, async () => {
      const child = startBuilt(sandbox, ['chat', 'send', ...flags], { env: env() })
      const run = collectOutput(child)
      const closed = once(child, 'close')
      await (line === '' || !child.stderr ? sleep(4_500) : once(child.stderr, 'data'))
      expect(run.stderr).to.equal(line)
      child.stdin?.end('late')
      expect((await closed)[0]).to.equal(0)
      expect(run.stderr).to.equal(line)
      expect(sent()).to.deep.equal(['late'])
    })
})

describeSample('when a filter never ends', 1, function () {
  this.timeout(60_000)
  const server = perTest(startScriptedServer)

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`${signal} ends a filter of --jq`, async function () {
      if (process.platform === 'win32') return this.skip()
      using sandbox = createSandbox()
      await server.serve(json(200, {}))
      const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'k' }
      const child = startBuilt(sandbox, ['settings', 'get', '--jq', 'def f: f; f'], { env })
      const closed = once(child, 'close')
      await sleep(2_000)
      expect(child.exitCode).to.equal(null)
      child.kill(signal)
      const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
      expect(await closed).to.deep.equal([null, signal])
      clearTimeout(timer)
    })
  }
})
