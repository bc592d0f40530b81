import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'

describe('when a service on this machine uses another database', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => startScriptedServer({ choose: () => json(200, { status: 'ready' }) }))
  const place = 'postgres://db.example:5432/chat'
  const run = (...args: string[]) => runChatctl(sandbox, args)
  const data = () => join(sandbox.home, '.local/share/chatctl')

  beforeEach(() => {
    mkdirSync(data(), { recursive: true, mode: 0o700 })
    const record = { url: server.url, pid: process.pid, place }
    writeFileSync(join(data(), `running-${process.pid}.json`), JSON.stringify(record))
  })

  it('a command that would change the default database is refused, and the error names both', async () => {
    const set = await run('settings', 'set', 'app_name=Changed', '--profile', 'local')
    expectFailure(set, 2, place, join(data(), 'chatctl.db'), `chatctl auth login --base-url ${server.url}`)
    expectFailure(await run('service', 'keys', 'create', '--name', 'x'), 2, `--database ${place}`)
  })

  it('doctor names the database of the service and does not fail', async () => {
    await openSqlite(data()).close()
    const { exitCode, stdout } = await run('doctor', '-o', 'json')
    expect(exitCode, stdout).to.equal(0)
    const checks: { check: string; status: string; message: string; hint: string }[] = JSON.parse(stdout)
    const found = checks.find(({ check }) => check === 'data')
    expect(found?.status).to.equal('warning')
    expect(found?.message).to.contain(server.url).and.to.contain(place)
    expect(found?.hint).to.equal(`Use that service with: chatctl auth login --base-url ${server.url}`)
  })
})
