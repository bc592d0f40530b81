import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { caller } from '../../service/temporary-service.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { makeKey, serveInProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'

describe('a command that opens the data of a running service', () => {
  const sandbox = perTest(createSandbox)
  const run = (...args: readonly string[]) => runChatctl(sandbox, args)
  const data = () => join(sandbox.home, '.local', 'share', 'chatctl')

  it('shows what the service has changed, and changes the next responses of the service', async () => {
    const service = await serveInProcess(sandbox)
    const call = caller(service.url, await makeKey(sandbox))
    await call('PATCH', '/v1/settings', { app_name: 'Served' })
    const shown = (await run('settings', 'get', '--profile', 'local', '--jq', '.app_name')).stdout
    expect(shown).to.equal('Served\n')
    expect((await run('settings', 'set', 'features.chat=false', '--profile', 'local')).exitCode).to.equal(0)
    const seen = (await call('POST', '/api/chat/send', { message: 'Hi' })).body.error.code
    expect(seen).to.equal('feature_disabled')
    await service.stop()
  })

  it('finds the service with service status --ready, unless it does not run or responds otherwise', async () => {
    const status = ['service', 'status', '--ready']
    expectFailure(await run(...status), 69, `No service runs on ${join(data(), 'chatctl.db')}`)
    expect(existsSync(data())).to.equal(false)
    const service = await serveInProcess(sandbox)
    expect(await run(...status)).to.include({ exitCode: 0, stdout: `${service.url}\n`, stderr: '' })
    expect(JSON.parse((await run(...status, '--json')).stdout)).to.include({ health: 'ready' })
    await service.stop()
    const error = { error: { code: 'storage_unavailable', message: 'down' } }
    await using failing = await startScriptedServer(json(503, error))
    mkdirSync(data(), { recursive: true, mode: 0o700 })
    const record = { url: failing.url, pid: 1, place: join(data(), 'chatctl.db') }
    writeFileSync(join(data(), 'running-1.json'), JSON.stringify(record))
    expectFailure(await run(...status), 69, `${failing.url} is not ready: storage_unavailable`)
  })
})
