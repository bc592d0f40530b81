import { spawn } from 'node:child_process'
import { expect } from 'chai'
import { type FaultServer, json, startFaultServer } from '../../support/fault-server.ts'
import { binary, type Run } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'

describe('stdout', () => {
  let server: FaultServer
  let sandbox: Sandbox
  before(async function () {
    // Only on Linux can the test see that Node has opened another file for a closed stdout.
    if (process.platform !== 'linux') return this.skip()
    server = await startFaultServer(json(200, { id: 'u1', name: 'Ada' }))
    sandbox = createSandbox()
  })
  after(async () => {
    await server?.close()
    sandbox?.remove()
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
    const run: Run = { exitCode: null, stdout: '', stderr: '' }
    child.stdout.on('data', (chunk) => {
      run.stdout += chunk
    })
    child.stderr.on('data', (chunk) => {
      run.stderr += chunk
    })
    return new Promise((resolve) => child.once('close', (exitCode) => resolve({ ...run, exitCode })))
  }

  for (const args of [
    ['users', 'get', 'u1'],
    ['users', 'get', 'u1', '--json'],
    ['users', 'update', 'u1', '--name', 'Ada'],
    ['config', 'path'],
    ['api', '/v1/new'],
    ['api', 'POST', '/v1/new'],
    ['chat', 'send', 'Hello'],
    ['autocomplete', 'bash'],
    ['chat', 'models'],
    ['history', 'list'],
  ]) {
    it(`chatctl ${args.join(' ')} fails before it sends a change if stdout is closed`, async () => {
      const { exitCode, stderr } = await inShell('"$@" >&-', [...node, ...args])
      expect(exitCode, stderr).to.equal(1)
      expect(stderr).to.contain('stdout is closed')
      expect(server.requests.filter(({ method }) => method !== 'GET')).to.deep.equal([])
    })
  }

  it('users get fails if stdout was closed before a wrapper such as timeout', async () => {
    const { exitCode, stderr } = await inShell('timeout 20 "$@" >&-', [...node, 'users', 'get', 'u1'])
    expect(exitCode).to.equal(1)
    expect(stderr).to.contain('stdout is closed')
  })

  it('users get fails if stdout is open for reading only', async () => {
    const { exitCode, stderr } = await inShell('"$@" 1</dev/zero', [...node, 'users', 'get', 'u1'])
    expect(exitCode).to.equal(1)
    expect(stderr).to.contain('Cannot write to stdout: EBADF')
  })

  for (const [how, line] of [
    ['a shell', '"$@" >/dev/null'],
    ['an enclosing shell', '{ "$@"; } >/dev/null'],
    ['a shell that opens it for reading and writing', '{ "$@"; } 1<>/dev/null'],
  ] as const) {
    it(`users get succeeds if ${how} discards stdout`, async () => {
      const { exitCode, stderr } = await inShell(line, [...node, 'users', 'get', 'u1'])
      expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    })
  }

  it('users get succeeds if another program discards stdout', async () => {
    const script = `
      const [node, ...words] = process.argv.slice(1)
      const { status } = require('node:child_process').spawnSync(node, words, { stdio: ['ignore', 'ignore', 'inherit'] })
      process.exitCode = status`
    const words = [process.execPath, '-e', script, '--', ...node, 'users', 'get', 'u1']
    const direct = await inShell('exec "$@"', words)
    expect(direct, direct.stderr).to.include({ exitCode: 0, stderr: '' })
    const inside = ['/bin/sh', '-c', '"$@"; exit $?', 'sh', ...node, 'users', 'get', 'u1']
    const withShell = await inShell('exec "$@"', [process.execPath, '-e', script, '--', ...inside])
    expect(withShell, withShell.stderr).to.include({ exitCode: 0, stderr: '' })
  })
})
