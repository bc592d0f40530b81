import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { packageFile } from '../scripts/package-file.ts'
import { perSuite } from '../support/lifetime.ts'
import { binary, type Run, type RunOptions, startBuilt } from '../support/run-chatctl.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'
import { answer, json, type ScriptedServer, silent, startScriptedServer } from '../support/scripted-server.ts'
import { until } from '../support/until.ts'

/** Behavior that only a real process shows: the built program, started like from a shell. */
describe('the built program', function () {
  this.timeout(60_000)
  const sandbox = perSuite(createSandbox)
  let server: ScriptedServer | undefined
  let child: ChildProcess | undefined
  afterEach(async () => {
    child?.kill('SIGKILL')
    await server?.close()
    server = undefined
  })

  const environment = () => (server && { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' }) ?? {}

  function start(...args: string[]): ChildProcess {
    child = startBuilt(sandbox, args, { env: environment() })
    child.stdin?.end()
    return child
  }

  const run = (args: readonly string[], options: RunOptions = {}): Promise<Run> =>
    runProgram(sandbox, args, { env: environment(), ...options })

  /** Runs a shell command in which `"$@"` is the program with its arguments. */
  function shell(line: string, ...args: string[]) {
    const words = ['-c', line, 'sh', process.execPath, binary, ...args]
    return spawnSync('/bin/sh', words, { env: sandbox.env, cwd: sandbox.home, encoding: 'utf8' })
  }

  it('prints its version, and help', async () => {
    const { exitCode, stdout } = await run(['--version'])
    expect(exitCode).to.equal(0)
    expect(stdout).to.contain(packageFile.version)
    const help = await run(['--help'])
    expect(help).to.include({ exitCode: 0, stderr: '' })
    expect(help.stdout).to.match(/^Command-line client and administration/)
  })

  it('sends a message with stdin, without the name of the command and with the bundle of chat', async () => {
    server = await startScriptedServer(json(200, { response: 'From stdin', context_id: 'c' }))
    const cache = join(sandbox.home, 'cache-of-message')
    const { exitCode, stdout, stderr } = await run(['-m', 'small', 'Review this'], {
      stdin: 'Text of a pipe\n',
      env: { ...environment(), XDG_CACHE_HOME: cache },
    })
    expect({ exitCode, stdout }, stderr).to.deep.equal({ exitCode: 0, stdout: 'From stdin\n' })
    expect(JSON.parse(server.requests[0]?.body ?? '').message).to.match(/^Review this\s+Text of a pipe$/)
    const bundles = readdirSync(join(cache, 'chatctl/cache')).map((file) => file.replace(/-.*/, ''))
    expect(bundles).to.include('chat').and.not.to.include('main')
  })

  it('exits 130 on SIGINT while it waits for the service', async function () {
    if (process.platform === 'win32') this.skip()
    server = await startScriptedServer(silent)
    const waiting = start('users', 'get', 'u1')
    await until(() => server?.requests.length === 1, 20_000)
    waiting.kill('SIGINT')
    expect((await once(waiting, 'close'))[0]).to.equal(130)
  })

  it('leaves a second signal to the system', async function () {
    if (process.platform === 'win32') this.skip()
    server = await startScriptedServer({
      choose: ({ method }) => (method === 'POST' ? silent : json(404, { error: { message: 'Not found' } })),
    })
    writeFileSync(join(sandbox.home, 'users.csv'), 'email\na@chat.example\n')
    // It waits for running requests after the first signal.
    const waiting = start('users', 'import', 'users.csv', '--yes')
    await until(() => server?.requests.at(-1)?.method === 'POST', 20_000)
    const timer = setInterval(() => waiting.kill('SIGTERM'), 20)
    expect(await once(waiting, 'close')).to.deep.equal([null, 'SIGTERM'])
    clearInterval(timer)
  })

  it('prints all of 1 MB to a reader that starts late', async () => {
    const long = `${'0123456789'.repeat(100_000)}\n`
    server = await startScriptedServer(answer(200, { 'content-type': 'text/plain' }, long))
    const started = start('api', '/v1/long')
    await until(() => server?.requests.length === 1, 20_000)
    const printed = started.stdout ? await text(started.stdout) : ''
    expect(printed.length).to.equal(long.length)
    expect(printed === long).to.equal(true)
  })

  it('exits 0 if its reader closes the pipe early', function () {
    if (process.platform === 'win32') this.skip()
    const { stdout, stderr } = shell('{ "$@"; echo $? >&2; } | head -n 1', 'config', 'list', '--json')
    expect(stdout).to.equal('[\n')
    expect(stderr).to.equal('0\n')
  })

  it('exits 1 when the device is full', function () {
    if (!existsSync('/dev/full')) this.skip()
    const { status, stderr } = shell('"$@" >/dev/full', 'chat', 'send', 'hi')
    expect(status, stderr).to.equal(1)
    expect(stderr)
      .to.contain('Cannot write to stdout')
      .and.not.match(/^ {4}at |This is a bug/m)
  })

  it('reads a YAML file, and runs a jq filter', async () => {
    writeFileSync(join(sandbox.home, 'settings.yaml'), 'app_name: Ada\n')
    server = await startScriptedServer(json(200, { app_name: 'Bob' }))
    const compare = ['settings', 'diff', 'settings.yaml', '--exit-code', '--jq', '.changes[].path']
    const { exitCode, stdout, stderr } = await run(compare)
    expect({ exitCode, stdout }, stderr).to.deep.equal({ exitCode: 10, stdout: 'app_name\n' })
  })

  it('completes commands', async () => {
    const offered = await run(['complete', '--', 'settings', 'ap'])
    expect(offered.stdout.split('\n').map((line) => line.split('\t')[0])).to.include('apply')
  })

  it('serves until SIGTERM, logs on stderr, and opens no debugger on SIGUSR1', async function () {
    if (process.platform === 'win32') this.skip()
    const service = start('service', 'run', '--port', '0', '--data', 'data', '--json')
    const written = text(service.stderr as NodeJS.ReadableStream)
    const [line] = await once(service.stdout as NodeJS.ReadableStream, 'data')
    service.kill('SIGUSR1')
    const { url } = JSON.parse(String(line))
    expect((await fetch(`${url}/v1/settings`)).status).to.equal(401)
    service.kill('SIGTERM')
    expect((await once(service, 'close'))[0]).to.equal(0)
    expect(await written)
      .to.contain('"msg":"listening"')
      .and.not.match(/debugger/i)
  })
})
