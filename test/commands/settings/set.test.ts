import { expect } from 'chai'
import { hurriedClock } from '../../client/capture.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { json } from '../../support/scripted-server.ts'
import { SettingsRun } from './settings-run.ts'

describe('settings set', () => {
  const run = perTest(() => SettingsRun.start())
  const set = (...args: string[]) => run.settings(['set', ...args])

  it('reads the settings, sends the named keys even if they are unchanged, and reads them back', async () => {
    const { stdout } = expectSuccess(await set('theme.mode=light', '--json'))
    expect(JSON.parse(stdout)).to.deep.equal(run.server.settings)
    expect(run.methods).to.equal('GET PATCH GET')
    expect(run.changes[0]?.body).to.deep.equal({ theme: { mode: 'light' } })
  })

  it('shows the response to the change', async () => {
    run.server.answerPatch = json(200, { restart_required: true })
    const { stdout } = expectSuccess(await set('theme.mode=dark', '--json'))
    expect(JSON.parse(stdout)).to.deep.equal({ restart_required: true })
  })

  it('exits 7 for a key that did not take effect, despite a 200', async () => {
    run.server.faults.set('PATCH /v1/settings', json(200, {}))
    const host = { clock: hurriedClock() }
    const refused = await run.settings(['set', 'app_name=New', 'theme.mode=light'], { host })
    expectFailure(refused, 7, 'app_name did not take effect: expected "New", found "Chat"')
  })
})

describe('settings api set', () => {
  const run = perTest(() => SettingsRun.start())
  const set = (...args: string[]) => run.settings(['api', 'set', ...args])

  it('reports the differences from what was last sent from this machine', async () => {
    expect(await set('--version', 'v1', '--rate-limiting', 'on')).to.include({ exitCode: 0, stderr: '' })
    const { stderr } = await set('--version', 'v2')
    expect(stderr).to.match(
      /^Compared with the API configuration last sent from this machine \(\d{4}-.*Z\): /,
    )
    expect(stderr).to.contain('api.version from "v1" to "v2"\n')
    expect(stderr).to.contain('Sent then, but not this time: api.rate_limiting.enabled\n')
    expect((await set('--version', 'v2')).stderr).to.match(/no differences\n$/)
    expect((await set('--version', 'v3', '--quiet')).stderr).to.equal('')
    const json = await set('--version', 'v4', '--json')
    expect(JSON.parse(json.stdout)).to.include({ version: 'v4' })
    expect(JSON.parse(json.stderr).notice.message).to.contain('api.version from "v3" to "v4"')
  })

  it('is what settings diff and settings apply compare with, also if chatctl api has sent it', async () => {
    run.file('settings.yaml', 'api: { version: "1" }\n')
    const diff = async () => (await run.settings(['diff', 'settings.yaml', '--json', '--exit-code'])).exitCode
    expect((await run.settings(['apply', 'settings.yaml', '--yes'])).exitCode).to.equal(0)
    expect(await diff()).to.equal(0)
    run.server.faults.set('POST /v1/settings/api/', json(200, {}))
    for (const path of ['/v1/settings/api', '/v1/settings/api/']) {
      await run.command(['api', 'POST', path, '--field', 'version=2'])
      expect(await diff(), path).to.equal(10)
      expect((await run.settings(['apply', 'settings.yaml', '--yes'])).exitCode).to.equal(0)
      expect(await diff(), path).to.equal(0)
    }
    run.server.faults.set('POST /v1/settings/api', json(200, { version: '3' }))
    await set('--version', '2')
    expect(await diff()).to.equal(10)
  })
})
