import { expect } from 'chai'
import { composePlanFile } from '../../../src/settings/plan-file.ts'
import { packageFile } from '../../scripts/package-file.ts'
import { perTest } from '../../support/lifetime.ts'
import { SettingsRun } from './settings-run.ts'

const times = { now: () => Date.parse('2020-01-02T03:04:05Z') } as Parameters<typeof composePlanFile>[2]
const from = 'https://chat.example/`a|b`<b>'

describe('settings diff with a saved plan', () => {
  const run = perTest(() => SettingsRun.start())
  const diff = (...args: string[]) => run.settings(['diff', ...args])
  const change = { path: 'theme.mode', from: 'light', to: 'dark' }
  beforeEach(async () => {
    run.file('settings.yaml', 'theme: { mode: dark }\napp_name: Chat\n')
    expect((await diff('settings.yaml', '--save', 'settings.plan')).exitCode).to.equal(0)
    run.server.requests.length = 0
  })

  it('shows the changes, the time, the service, and the version, and sends no request', async () => {
    // The current settings have no difference from the plan.
    run.server.change({ theme: { mode: 'dark' } })
    const { exitCode, stdout, stderr } = await diff('settings.plan')
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    const [record = '', ...rest] = stdout.split('\n\n')
    expect(record).to.match(
      /^Plan for http:\/\/127[\d.:]+\/, made \d{4}-\d\d-\d\dT[\d:.]+Z \(\d+ m?s ago\) by /,
    )
    expect(record).to.contain(
      `by chatctl ${packageFile.version}. The service was not contacted, so its current values may differ.`,
    )
    expect(rest.join('\n\n')).to.equal(
      '  theme.mode  "light" → "dark"\n\n1 of the 2 keys in the plan differed when the plan was saved.\n',
    )
    expect(run.server.requests).to.deep.equal([])
  })

  it('exits 10 for a plan with changes with --exit-code', async () => {
    expect((await diff('settings.plan', '--exit-code')).exitCode).to.equal(10)
    run.server.change({ theme: { mode: 'dark' } })
    await diff('settings.yaml', '--save', 'same.plan')
    const same = await diff('same.plan', '--exit-code')
    expect(same).to.include({ exitCode: 0 })
    expect(same.stdout).to.contain('None of the 2 keys in the plan differed when the plan was saved.\n')
  })

  it('has the plan in every output format', async () => {
    const { stdout, stderr } = await diff('settings.plan', '--json')
    expect(stderr).to.equal('')
    const { created_at, ...plan } = JSON.parse(stdout).plan
    expect(new Date(created_at).toISOString()).to.equal(created_at)
    expect(plan).to.deep.equal({
      service: `${run.server.url}/`,
      made_by: packageFile.version,
      refused: false,
    })
    expect(JSON.parse(stdout).changes).to.deep.equal([change])
    const rows = await diff('settings.plan', '-o', 'csv')
    expect(rows.stdout).to.equal('path,from,to\ntheme.mode,light,dark\n')
    expect(rows.stderr).to.contain('Plan for ')
  })

  it('says that apply refuses a plan of another service, another version, or one that was sent', async () => {
    const plan = composePlanFile({ service: from, settings: [change] }, '0.0.1', times)
    run.file('other.plan', plan)
    const other = await diff('other.plan')
    expect(other.stdout).to.contain(`Plan for ${from}, made 2020-01-02T03:04:05.000Z (`)
    expect(other.stdout).to.contain('days ago) by chatctl 0.0.1.')
    expect(other).to.include({ exitCode: 0 })
    expect(other.stderr).to.contain('settings apply refuses this plan here: The plan other.plan is for ')
    expect(JSON.parse((await diff('other.plan', '--json')).stdout).plan).to.include({ refused: true })
    run.file(
      'old.plan',
      composePlanFile({ service: `${run.server.url}/`, settings: [change] }, '0.0.1', times),
    )
    expect((await diff('old.plan')).stderr).to.contain('was made by chatctl 0.0.1')
    expect((await run.settings(['apply', 'settings.plan', '--yes'])).exitCode).to.equal(0)
    expect((await diff('settings.plan')).stderr).to.contain('was already sent')
  })
})
