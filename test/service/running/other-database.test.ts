import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { serveInProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('when a service on this machine uses another database', () => {
  const sandbox = perTest(createSandbox)

  const defaultDatabase = () => join(sandbox.home, '.local/share/chatctl/chatctl.db')
  const create = ['service', 'admin', 'create', 'ada@example.com', '--password-stdin']
  const stdin = 'correct horse battery\n'

  it('settings set --profile local is refused while a service runs on another data directory', async () => {
    const data = join(sandbox.home, 'data')
    const service = await serveInProcess(sandbox, ['--data', data])
    const set = ['settings', 'set', 'app_name=Changed', '--profile', 'local']
    try {
      const refused = await runChatctl(sandbox, set)
      expect(refused.exitCode, refused.stderr).to.equal(2)
      expect(refused.stderr).to.contain(join(data, 'chatctl.db')).and.to.contain(defaultDatabase())
      expect(refused.stderr).to.contain(`chatctl auth login --base-url ${service.url}`)
      expect(existsSync(defaultDatabase())).to.equal(false)
      const key = await runChatctl(sandbox, ['service', 'keys', 'create', '--name', 'x'])
      expect(key.exitCode, key.stderr).to.equal(2)
      expect(key.stderr).to.contain(`--data ${data}`)
      // Reading and chatting change nothing that the service should have.
      const chat = await runChatctl(sandbox, ['chat', 'send', 'Hello', '--profile', 'local'])
      expect(chat.exitCode, chat.stderr).to.equal(0)
      const named = await runChatctl(sandbox, ['service', 'keys', 'create', '--name', 'x', '--data', data])
      expect(named.exitCode, named.stderr).to.equal(0)
    } finally {
      await service.stop()
    }
    const done = await runChatctl(sandbox, set)
    expect(done.exitCode, done.stderr).to.equal(0)
  })

  it('doctor names the database of the service and does not fail', async () => {
    const made = await runChatctl(sandbox, create, { stdin })
    expect(made.exitCode, made.stderr).to.equal(0)
    const data = join(sandbox.home, 'data')
    const service = await serveInProcess(sandbox, ['--data', data])
    try {
      const { exitCode, stdout, stderr } = await runChatctl(sandbox, ['doctor', '-o', 'json'])
      expect(exitCode, stdout).to.equal(0)
      expect(stderr).to.equal('')
      const checks: { check: string; status: string; message: string; hint: string }[] = JSON.parse(stdout)
      const found = checks.find(({ check }) => check === 'data')
      expect(found?.status).to.equal('warning')
      expect(found?.message).to.contain(defaultDatabase()).and.to.contain(service.url)
      expect(found?.message).to.contain(join(data, 'chatctl.db'))
      expect(found?.hint).to.equal(`Use that service with: chatctl auth login --base-url ${service.url}`)
    } finally {
      await service.stop()
    }
  })

  it('service backup is refused without a claim that it would change a database', async () => {
    const service = await serveInProcess(sandbox, ['--data', join(sandbox.home, 'data')])
    try {
      const refused = await runChatctl(sandbox, ['service', 'backup', '--to', join(sandbox.home, 'b.db')])
      expect(refused.exitCode, refused.stderr).to.equal(2)
      expect(refused.stderr).to.contain(`but this command would use ${defaultDatabase()}`)
    } finally {
      await service.stop()
    }
  })

  it('service status --ready exits 69, and names the data of that service', async () => {
    const data = join(sandbox.home, 'data')
    const service = await serveInProcess(sandbox, ['--data', data])
    try {
      const ready = ['service', 'status', '--ready']
      const check = `Check it with: chatctl ${ready.join(' ')} --data ${data}`
      expectFailure(await runChatctl(sandbox, ready), 69, `No service runs on ${defaultDatabase()}`, check)
      expect(await runChatctl(sandbox, [...ready, '--data', data])).to.include({ exitCode: 0 })
      const third = join(sandbox.home, 'third')
      const named = await runChatctl(sandbox, [...ready, '--data', third])
      const same = 'has --data or --database, the other needs the same'
      expectFailure(named, 69, third, 'Start it with: chatctl service run', same)
      const url = ['--database', 'postgres://ada@127.0.0.1:1/chat']
      expectFailure(await runChatctl(sandbox, [...ready, ...url]), 69, same)
    } finally {
      await service.stop()
    }
  })

  it('settings set --profile local changes the default data directory while its own service runs', async () => {
    const other = await serveInProcess(sandbox, ['--data', join(sandbox.home, 'data')])
    const own = await serveInProcess(sandbox)
    try {
      const done = await runChatctl(sandbox, ['settings', 'set', 'app_name=Changed', '--profile', 'local'])
      expect(done.exitCode, done.stderr).to.equal(0)
    } finally {
      await own.stop()
      await other.stop()
    }
  })

  it('service run needs no home directory with --data', async () => {
    const env = { HOME: '/proc/none', XDG_DATA_HOME: '/proc/none/data' }
    const service = await serveInProcess({ ...sandbox, env: { ...sandbox.env, ...env } }, [
      '--data',
      join(sandbox.home, 'data'),
    ])
    await service.stop()
  })
})
