import { join } from 'node:path'
import { expect } from 'chai'
import { hurriedClock } from '../../client/capture.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { answer, type Behavior, json } from '../../support/scripted-server.ts'
import { SettingsRun } from './settings-run.ts'

interface Row {
  id: string
  command: string
  path: string
  before: unknown
  before_from: string
  after: unknown
  outcome: string
}

describe('settings history and settings revert', () => {
  const run = perTest(() => SettingsRun.start())
  const history = async (...flags: string[]): Promise<Row[]> =>
    JSON.parse((await run.settings(['history', '--json', ...flags])).stdout)
  const apply = (text: string, ...flags: string[]) => {
    run.file('settings.yaml', text)
    return run.settings(['apply', 'settings.yaml', '--yes', ...flags])
  }
  /** The ID of the newest change. */
  const newest = async () => (await history()).at(-1)?.id ?? ''

  it('lists each key with the value that was read before the change, oldest first, and asks no service', async () => {
    await apply('app_name: One\ntheme: { mode: dark }\n')
    await apply('app_name: Two\n')
    const { length } = run.server.requests
    const rows = await history()
    expect(rows.map(({ path, before, after }) => [path, before, after])).to.deep.equal([
      ['app_name', 'Chat', 'One'],
      ['theme.mode', 'light', 'dark'],
      ['app_name', 'One', 'Two'],
    ])
    for (const row of rows) expect(row).to.include({ command: 'settings apply', outcome: 'done' })
    expect(rows[0]?.id).to.equal(rows[1]?.id).and.not.equal(rows[2]?.id)
    expect(await history('--limit', '1')).to.deep.equal(rows.slice(2))
    expect(run.server.requests).to.have.length(length)
  })

  it('reads the value before a change, with settings set and api, and else does not know it', async () => {
    const set = async (name: string, fault?: [string, Behavior]) => {
      run.server.faults.clear()
      if (fault) run.server.faults.set(...fault)
      await run.settings(['set', `app_name=${name}`], { host: { clock: hurriedClock() } })
      run.server.faults.clear()
    }
    await set('One')
    await set('Two', ['PATCH /v1/settings', answer(500)])
    await run.command(['api', 'PATCH', '/v1/settings', '--field', 'app_name=Three'])
    await set('Four', ['PATCH /v1/settings', json(200, { app_name: 'Other' })])
    await set('Five', ['GET /v1/settings', answer(403)])
    const rows = await history()
    expect(rows.map((row) => [row.before, row.before_from, row.after, row.outcome])).to.deep.equal([
      ['Chat', 'service', 'One', 'done'],
      ['One', 'service', 'Two', 'unknown'],
      ['One', 'service', 'Three', 'done'],
      ['Three', 'service', 'Four', 'contradicted'],
      [null, 'not_known', 'Five', 'done'],
    ])
  })

  it('takes no earlier value if the service had none', async () => {
    await apply('app_name: One\n')
    run.server.change({ app_name: null })
    await apply('app_name: Two\n')
    expect((await history()).at(-1)).to.include({ before: null, after: 'Two' })
  })

  it('contains the API configuration, and only changes of this service', async () => {
    await run.settings(['api', 'set', '--version', 'v1'])
    await run.settings(['api', 'set', '--version', 'v2'])
    const rows = await history()
    const change = { path: 'api.version', before: 'v1', before_from: 'last_sent', after: 'v2' }
    expect(rows.at(-1)).to.include(change)
    const reverted = await run.settings(['revert', rows.at(-1)?.id ?? ''])
    expect(reverted.stdout).to.include('api.version  "v2" → "v1"')
    const elsewhere = await run.settings(['history', '--json', '--base-url', 'https://other.example'])
    expect(JSON.parse(elsewhere.stdout)).to.deep.equal([])
  })

  it('lists the changes of all machines from the audit log of the embedded service, with --service', async () => {
    const other = createSandbox()
    const data = join(other.home, 'data')
    const onMachine = (sandbox: Sandbox, ...args: string[]) => {
      const env = { XDG_DATA_HOME: data, CHATCTL_PROFILE: 'local' }
      return runChatctl(sandbox, ['settings', ...args], { env })
    }
    await onMachine(other, 'set', 'app_name=One')
    await onMachine(run.sandbox, 'api', 'set', '--version', 'v2')
    await onMachine(other, 'set', 'app_name=Two', 'theme.mode=dark')
    const { stdout } = await onMachine(run.sandbox, 'history', '--service', '--json')
    const rows: Row[] = JSON.parse(stdout)
    expect(rows.map((row) => [row.path, row.before, row.after])).to.deep.equal([
      ['app_name', 'Chat', 'One'],
      ['api.version', '1', 'v2'],
      ['app_name', 'One', 'Two'],
      ['theme.mode', 'system', 'dark'],
    ])
    for (const row of rows)
      expect(row).to.have.keys('at', 'actor', 'path', 'before', 'after', 'key_id', 'request_id')
    const limited = await onMachine(run.sandbox, 'history', '--service', '--limit', '1', '--json')
    expect(JSON.parse(limited.stdout)).to.deep.equal(rows.slice(3))
    expectFailure(await onMachine(run.sandbox, 'history', '--data', data), 2, '--service')
    const failed = await onMachine(run.sandbox, 'history', '--database=postgres://127.0.0.1/x')
    expectFailure(failed, 2, '--service')
    const remote = await run.settings(['history', '--service'])
    const command = 'chatctl settings history --service --profile local'
    expectFailure(remote, 2, 'is only on the machine of the service', command)
    other.remove()
  })

  describe('settings revert', () => {
    const revert = (...args: string[]) => run.settings(['revert', ...args])

    it('makes a plan that restores the values before a change', async () => {
      await apply('app_name: One\ntheme: { mode: dark }\n')
      const shown = await revert(await newest(), '--save', 'revert.plan')
      expect(shown.stdout).to.include('"One"  → "Chat"').and.include('"dark" → "light"')
      expect(shown.stdout).to.include('2 of the 2 keys in the plan differ.')
      expect(shown.stderr).to.include('The plan is in revert.plan.').and.not.include('changed since')
      expect(run.changes).to.have.length(1)
      expect((await run.settings(['apply', 'revert.plan', '--yes'])).exitCode).to.equal(0)
      expect(run.server.settings).to.include({ app_name: 'Chat' })
      expect(run.server.settings.theme).to.deep.include({ mode: 'light' })
    })

    it('names each key that was changed since', async () => {
      await apply('app_name: One\n')
      run.server.change({ app_name: 'Other' })
      const { stdout, stderr } = await revert(await newest())
      expect(stdout).to.include('"Other" → "Chat"')
      expect(stderr).to.include('Warning: app_name was changed since, from "One" to "Other"')
    })

    it('refuses a change of which a value is not recorded, such as a secret', async () => {
      run.server.faults.set('GET /v1/settings', answer(403))
      await run.command(['api', 'PATCH', '/v1/settings', '--field', 'app_name=One'])
      run.server.faults.clear()
      const words = 'The ledger does not have the value before the change of app_name'
      expectFailure(await revert(await newest()), 2, words)
      run.server.change({ x_secret: 'canary' })
      await apply('x_secret: other\n', '--allow-unknown-keys')
      const refused = await revert(await newest(), '--json')
      expect(JSON.parse(refused.stderr).error).to.include({ code: 'value_not_recorded' })
      expect(JSON.stringify(await history())).not.to.match(/canary|other/)
    })

    it('exits with code 6 for an unknown ID, and for a change that was refused', async () => {
      run.server.faults.set('PATCH /v1/settings', answer(403))
      await apply('app_name: One\n')
      expect((await history()).at(-1)).to.include({ outcome: 'refused' })
      for (const id of ['none', await newest()])
        expectFailure(await revert(id), 6, `No change of these settings has the ID ${id}`, 'settings history')
    })
  })
})
