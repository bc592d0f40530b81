import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { errorBody } from '../../../src/contract/resources/error-body.ts'
import { root } from '../../scripts/package-file.ts'
import { perTest } from '../../support/lifetime.ts'
import { runProgram } from '../../support/run-program.ts'
import { makeKey, runService } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { sse, startScriptedServer } from '../../support/scripted-server.ts'

/** See docs/decisions/0003-bundling.md. */
describe('the program in separate bundles', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)

  /** A copy of the installed package that lacks a file, and has no other packages. */
  const runWithout = (
    name: string | undefined,
    args: readonly string[],
    packages: readonly string[] = [],
  ) => {
    const copy = join(sandbox.home, 'package')
    for (const own of ['bin', 'dist', 'package.json', ...packages])
      cpSync(join(root, own), join(copy, own), { recursive: true })
    if (name !== undefined) rmSync(join(copy, name))
    return runProgram(sandbox, args, { program: [process.execPath, join(copy, 'bin/run.js')] })
  }

  it('reports that it is not built', async () => {
    expect(await runWithout('dist/start.cjs', ['config', 'path'])).to.deep.include({
      exitCode: 1,
      stdout: '',
      stderr: 'Error: chatctl is not built.\nHint:  npm run build\n',
    })
  })

  it('reports a failure after an update has removed a bundle that only other errors need', async () => {
    const { exitCode, stderr } = await runWithout('dist/usage-error.cjs', ['config', 'get', 'unknown'])
    expect(exitCode).to.equal(2)
    expect(stderr).to.match(/^Error: Unknown configuration option "unknown"/)
  })

  it('shows that a stream was interrupted, although the trace is in another bundle than the client', async () => {
    await using server = await startScriptedServer(
      sse([{ delta: 'a' }], { done: false, ending: 'unfinished' }),
    )
    const send = ['chat', 'send', 'Hello', '--stream', '--debug', '--base-url', server.url]
    const { stderr } = await runProgram(sandbox, send, { env: { CHATCTL_API_KEY: 'key' } })
    expect(stderr).to.include('[stream interrupted after')
  })

  it('responds with 502 to a model server that cannot be reached, which the bundle of the service reports', async () => {
    const key = await makeKey(sandbox)
    // Nothing listens on port 9 (discard).
    const service = await runService(sandbox, ['--model-server', 'http://127.0.0.1:9/v1'])
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`${service.url}/v1/chat/models`, { headers })
    expect(response.status).to.equal(502)
    expect(errorBody.parse(await response.json()).error.code).to.equal('model_server_unreachable')
    await service.stop()
  })

  for (const [missing, packages] of [
    ['package with the native code of the keychain', ['node_modules/@napi-rs/keyring']],
    ['package @napi-rs/keyring', []],
  ] as const)
    it(`reports keychain_not_loaded without the ${missing}`, async () => {
      const configuration = join(sandbox.home, '.config/chatctl')
      mkdirSync(configuration, { recursive: true })
      const profiles = { work: { base_url: 'http://127.0.0.1:9' } }
      writeFileSync(join(configuration, 'config.json'), JSON.stringify({ profiles }))
      const models = ['chat', 'models', '-p', 'work', '--json']
      const { exitCode, stderr } = await runWithout(undefined, models, packages)
      const { code, message, hint } = JSON.parse(stderr).error
      expect({ exitCode, code }).to.deep.equal({ exitCode: 4, code: 'keychain_not_loaded' })
      expect(message).to.contain('@napi-rs/keyring')
      expect(hint).to.contain('CHATCTL_API_KEY').and.contain('--insecure-storage')
    })
})
