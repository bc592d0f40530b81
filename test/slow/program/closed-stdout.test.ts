import { spawn } from 'node:child_process'
import { expect } from 'chai'
import { perSuite } from '../../support/lifetime.ts'
import { binary, collectOutput, type Run } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'

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
