import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { SettingsRun } from './settings-run.ts'

const both = 'settings: { theme: { mode: dark } }\napi: { version: v2, rate_limiting: { enabled: true } }\n'
const version = { version: 'v2', rate_limiting: { enabled: true } }

describe('settings diff and apply with --only', () => {
  const run = perTest(() => SettingsRun.start())
  beforeEach(() => run.file('both.yaml', both))
  const diff = (...args: string[]) => run.settings(['diff', ...args])
  const apply = (...args: string[]) => run.settings(['apply', ...args, '--yes'])

  it('compare the keys of that part, and count those of the other', async () => {
    expect((await diff('both.yaml', '--only', 'settings')).stdout).to.equal(
      '  theme.mode  "light" → "dark"\n\n1 of the 1 key in the file differs. 2 keys of the API configuration are ignored.\n',
    )
    const api = (await diff('both.yaml', '--only', 'api', '-o', 'markdown')).stdout
    expect(api).to.contain(
      '### Settings: 2 of the 2 keys in the file differ. 1 key of the settings is ignored\n\n| Key',
    )
    expect(api).to.contain('| `api.version` | `none` | `"v2"` |\n')
    expect(api).to.contain('\n\nAPI configuration: compared with what was last sent from here (not known).\n')
  })

  it('send only that part', async () => {
    const settings = await apply('both.yaml', '--only', 'settings')
    expect(settings).to.include({ exitCode: 0 })
    expect(settings.stderr).to.contain('2 keys of the API configuration are ignored.')
    expect(run.changes).to.deep.equal([{ method: 'PATCH', body: { theme: { mode: 'dark' } } }])
    expect((await apply('both.yaml', '--only', 'api')).exitCode).to.equal(0)
    expect(run.changes.slice(1)).to.deep.equal([{ method: 'POST', body: version }])
  })

  it('exit 2 if the file or the plan has no key of that part', async () => {
    run.file('plain.yaml', 'theme: { mode: dark }')
    await diff('plain.yaml', '--save', 'plain.plan')
    run.server.requests.length = 0
    for (const name of ['plain.yaml', 'plain.plan']) {
      for (const verb of [diff, apply]) {
        const words = `${name} contains no key of the API configuration`
        expectFailure(await verb(name, '--only', 'api'), 2, words, 'Use --only settings, or omit --only.')
      }
    }
    expectFailure(await diff('plain.yaml', '--only', 'users'), 2, '--only')
    expect(run.server.requests).to.deep.equal([])
  })

  it('save a plan of that part', async () => {
    await diff('both.yaml', '--only', 'api', '--save', 'api.plan')
    expect((await apply('api.plan')).exitCode).to.equal(0)
    expect(run.changes).to.deep.equal([{ method: 'POST', body: version }])
  })

  it('apply each part of a plan once', async () => {
    await diff('both.yaml', '--save', 'both.plan')
    expect((await diff('both.plan', '--only', 'api')).stdout).to.contain(
      '2 of the 2 keys in the plan differed when the plan was saved. 1 key of the settings is ignored.\n',
    )
    expect((await apply('both.plan', '--only', 'settings')).exitCode).to.equal(0)
    expectFailure(await apply('both.plan', '--only', 'settings'), 7, 'both.plan was already sent\n')
    expectFailure(await apply('both.plan'), 7, 'both.plan was already sent in part\n')
    expect((await apply('both.plan', '--only', 'api')).exitCode).to.equal(0)
    expect(run.changes.map(({ method }) => method)).to.deep.equal(['PATCH', 'POST'])
  })
})
