import { lstatSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { composePlanFile } from '../../../src/settings/plan-file.ts'
import { stripControls } from '../../../src/terminal/strip-controls.ts'
import { hurriedClock } from '../../client/capture.ts'
import { packageFile } from '../../scripts/package-file.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { answer, delayed, failing, html502, json } from '../../support/scripted-server.ts'
import { SettingsRun } from './settings-run.ts'

const wanted = 'theme: { mode: dark }\nlimits: { max_tokens: 4096 }\n'
const changes = [{ path: 'theme.mode', from: 'light', to: 'dark' }]

describe('settings diff', () => {
  const run = perTest(() => SettingsRun.start())
  beforeEach(() => run.file('settings.yaml', wanted))
  const diff = (...args: string[]) => run.settings(['diff', ...args])

  it('shows the change of each key, and changes nothing', async () => {
    expect(await diff('settings.yaml')).to.deep.equal({
      exitCode: 0,
      stdout: '  theme.mode  "light" → "dark"\n\n1 of the 2 keys in the file differs.\n',
      stderr: '',
    })
    expect(run.methods).to.equal('GET')
  })

  it('prints the changes as JSON, TSV, and CSV', async () => {
    expect(JSON.parse((await diff('settings.yaml', '--json')).stdout)).to.deep.equal({ changes })
    expect((await diff('settings.yaml', '-o', 'tsv')).stdout).to.equal('theme.mode\tlight\tdark\n')
    const shown = (await diff('settings.yaml', '-o', 'csv')).stdout
    expect(shown).to.equal('path,from,to\ntheme.mode,light,dark\n')
    expect((await diff('settings.yaml', '--fields', 'path')).stdout).to.equal('theme.mode\n')
    expect((await diff('settings.yaml', '--jq', '.changes[].to')).stdout).to.equal('dark\n')
  })

  it('prints a Markdown table, of the changes or of the chosen fields, with -o markdown', async () => {
    const table = '| path | from | to |\n| --- | --- | --- |\n| `theme.mode` | `light` | `dark` |\n'
    expect((await diff('settings.yaml', '-o', 'markdown', '--fields', 'path,from,to')).stdout).to.equal(table)
    for (const name of ['markdown', 'md'])
      expect((await diff('settings.yaml', '-o', name)).stdout).to.equal(
        '### Settings: 1 of the 2 keys in the file differs\n\n' +
          '| Key | Before | After |\n| --- | --- | --- |\n| `theme.mode` | `"light"` | `"dark"` |\n',
      )
    run.server.change({ theme: { mode: 'dark' } })
    const { stdout } = await run.settings(['diff', 'settings.yaml'], { env: { CHATCTL_OUTPUT: 'markdown' } })
    expect(stdout).to.equal('No differences. None of the 2 keys in the file differs.\n')
    expectFailure(await run.settings(['get', '-o', 'markdown']), 2, 'is not one of table, json')
  })

  it('distinguishes texts, other values, and missing values', async () => {
    run.server.settings = { app_name: '5', features: { chat: true } }
    run.file('types.yaml', 'app_name: "true"\nfeatures: { chat: false }\nlimits: { max_tokens: 5 }')
    expect((await diff('types.yaml')).stdout.split('\n').slice(0, 3)).to.deep.equal([
      '  app_name           "5"  → "true"',
      '  features.chat      true → false',
      '  limits.max_tokens  none → 5',
    ])
  })

  describe('after the file was applied', () => {
    const drifted = [{ path: 'theme.mode', from: 'contrast', to: 'dark', drifted: true }]
    const shown = async (...args: string[]) => JSON.parse((await diff(...args, '--json')).stdout).changes
    beforeEach(() => run.settings(['apply', 'settings.yaml', '--yes']))

    it('shows drift if someone else has changed a value', async () => {
      run.server.change({ theme: { mode: 'contrast' } })
      expect(await shown('settings.yaml')).to.deep.equal(drifted)
      const text =
        '  theme.mode  "contrast" → "dark" (drifted)\n\n1 of the 2 keys in the file differs (1 drifted).\nDrifted: someone else has changed a value since chatctl sent it.\n'
      expect((await diff('settings.yaml')).stdout).to.equal(text)
      const { stdout } = await diff('settings.yaml', '-o', 'markdown')
      expect(stdout.split('\n\n')[0]).to.equal(
        '### Settings: 1 of the 2 keys in the file differs (1 drifted)',
      )
      const words = 'Drifted: someone else has changed a value since chatctl sent it: `theme.mode`.\n'
      expect(stdout.split('\n\n').at(-1)).to.equal(words)
      await diff('settings.yaml', '--save', 'drift.plan')
      expect(await shown('drift.plan')).to.deep.equal(drifted)
      const applied = await run.settings(['apply', 'settings.yaml', '--yes'])
      expect(applied.stderr).to.equal(text)
      expect(await shown('settings.yaml')).to.deep.equal([])
    })

    it('shows no drift if another command of this machine has changed the value', async () => {
      await run.settings(['set', 'theme.mode=contrast'])
      const own = { path: 'theme.mode', from: 'contrast', to: 'dark' }
      expect(await shown('settings.yaml')).to.deep.equal([own])
      run.server.change({ theme: { mode: 'light' } })
      expect(await shown('settings.yaml')).to.deep.equal([{ ...drifted[0], from: 'light' }])
    })

    for (const status of [204, 200])
      it(`shows no drift if a change had no effect, although the response was ${status}`, async () => {
        run.server.faults.set('PATCH /v1/settings', status === 200 ? json(200, {}) : answer(204))
        const set = await run.settings(['set', 'theme.mode=auto'], { host: { clock: hurriedClock() } })
        expectFailure(set, 7, 'theme.mode did not take effect')
        run.file('settings.yaml', 'theme: { mode: auto }\n')
        expect(await shown('settings.yaml')).to.deep.equal([{ path: 'theme.mode', from: 'dark', to: 'auto' }])
        const { stdout } = await run.settings(['history', '--jq', '.[-1] | [.after, .outcome] | join(" ")'])
        expect(stdout).to.equal('auto contradicted\n')
      })

    it('shows no drift if the last value is not known', async () => {
      run.server.faults.set('PATCH /v1/settings', answer(500))
      await run.settings(['set', 'theme.mode=x'], { host: { clock: hurriedClock() } })
      run.server.change({ theme: { mode: 'contrast' } })
      expect((await shown('settings.yaml'))[0]).not.to.have.property('drifted')
    })
  })

  it('exits 10 for a difference with --exit-code', async () => {
    expect(await diff('settings.yaml', '--exit-code')).to.include({ exitCode: 10, stderr: '' })
    const structured = await diff('settings.yaml', '--exit-code', '--json')
    expect(structured).to.include({ exitCode: 10, stderr: '' })
    expect(JSON.parse(structured.stdout)).to.deep.equal({ changes })
    run.server.faults.set('/v1/settings', json(403, { error: { code: 'forbidden', message: 'No' } }))
    expectFailure(await diff('settings.yaml', '--exit-code'), 5, 'No')
  })

  it('layers later files over earlier ones, including stdin', async () => {
    run.file('production.yaml', 'theme: { mode: contrast }\napp_name: Live')
    run.file('local.json', '{"app_name":"Mine"}')
    const layered = await diff('settings.yaml', '-f', 'production.yaml', '--file', 'local.json', '--json')
    const shown = JSON.parse(layered.stdout).changes.map(({ to }: { to: string }) => to)
    expect(shown).to.deep.equal(['Mine', 'contrast'])
    const words = ['diff', '-f', 'settings.yaml', '-f', '-', '--jq', '.changes[0].to']
    const piped = await run.settings(words, { stdin: 'theme: { mode: piped }' })
    expect(piped.stdout).to.equal('piped\n')
  })

  it('lists every fault of a file with its location, and sends nothing', async () => {
    run.file('bad.yaml', 'theme:\n  mdoe: dark\nfeatures:\n  chat: on\n')
    const refused = await diff('bad.yaml')
    expectFailure(refused, 2, 'bad.yaml:2:3: theme.mdoe', 'theme.mode', 'bad.yaml:4:9: features.chat')
    expect(JSON.parse((await diff('bad.yaml', '--json')).stderr).error.details.faults).to.have.length(2)
    expectFailure(await diff(), 2, 'No settings file was given')
    expectFailure(await diff('nowhere.yaml'), 2, 'Cannot read nowhere.yaml')
    expectFailure(await diff('-', '-f', '-'), 2, '- was given twice')
    expect(run.server.requests).to.deep.equal([])
  })

  it('removes control characters from the values of the service', async () => {
    run.server.change({ theme: { mode: '\u001b[2J\u009b31mred\u202e' } })
    const { stdout } = await run.settings(['diff', 'settings.yaml'], { env: { FORCE_COLOR: '1' } })
    const own = ['31', '32', '39'].map((code) => `\u001b[${code}m`)
    const text = own.reduce((left, code) => left.replaceAll(code, ''), stdout)
    expect(stripControls(text)).to.equal(text)
  })

  describe('with --save', () => {
    it('prints a command that applies the plan to the embedded service', async () => {
      const local = (args: string[]) =>
        runChatctl(run.sandbox, ['settings', ...args], { cwd: run.sandbox.home })
      const saved = await local(['diff', 'settings.yaml', '--save', 'settings.plan'])
      const [, line = ''] = /Apply it with: chatctl settings (.*)\n/.exec(saved.stderr) ?? []
      expect(line).to.equal('apply settings.plan --profile local')
      expect(await local([...line.split(' '), '--yes'])).to.include({ exitCode: 0 })
    })

    it('writes a plan that only its owner can read, even if nothing differs', async () => {
      for (const mode of ['light', 'dark']) {
        run.server.change({ theme: { mode } })
        const shown = (await diff('settings.yaml', '--save', 'out.plan')).stderr
        expect(shown).to.contain('The plan is in out.plan. Apply it with: chatctl settings apply out.plan')
        const path = join(run.sandbox.home, 'out.plan')
        expect(statSync(path).mode & 0o777).to.equal(0o600)
        const plan = JSON.parse(readFileSync(path, 'utf8'))
        expect(plan).to.deep.include({ format: 'chatctl-plan', v: 1, service: `${run.server.url}/` })
        expect(plan.plan.settings[0]).to.deep.equal({ path: 'theme.mode', from: mode, to: 'dark' })
        expect(JSON.stringify(plan)).not.to.contain('some-key')
      }
    })

    it('overwrites an earlier plan, also through a link, but no other file', async () => {
      await diff('settings.yaml', '--save', 'out.plan')
      const link = join(run.sandbox.home, 'link.plan')
      symlinkSync('out.plan', link)
      expect((await diff('settings.yaml', '--save', 'link.plan')).exitCode).to.equal(0)
      expect(lstatSync(link).isSymbolicLink()).to.equal(true)
      const refused = await diff('settings.yaml', '--save', 'settings.yaml')
      expectFailure(refused, 2, 'settings.yaml exists and is not a plan')
      expectFailure(await diff('settings.yaml', '--save', '.'), 2, 'exists and is not a plan')
      expect(readFileSync(join(run.sandbox.home, 'settings.yaml'), 'utf8')).to.equal(wanted)
      expectFailure(await diff('settings.yaml', '--save', 'no/where.plan'), 1, ': no such file')
    })
  })
})

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
    expect(record)
      .to.match(/^Plan for http:\/\/127[\d.:]+\/, made \d{4}-\d\d-\d\dT[\d:.]+Z \(\d+ m?s ago\) by /)
      .and.contain(`by chatctl ${packageFile.version}. The service was not contacted, so its current`)
    const counted = '1 of the 2 keys in the plan differed when the plan was saved.\n'
    expect(rest).to.deep.equal(['  theme.mode  "light" → "dark"', counted])
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
    const service = `${run.server.url}/`
    expect(plan).to.deep.equal({ service, made_by: packageFile.version, refused: false })
    expect(JSON.parse(stdout).changes).to.deep.equal([change])
    const rows = await diff('settings.plan', '-o', 'csv')
    expect(rows.stdout).to.equal('path,from,to\ntheme.mode,light,dark\n')
    expect(rows.stderr).to.contain('Plan for ')
  })

  it('says that apply refuses a plan of another service, another version, or one that was sent', async () => {
    const save = (name: string, service: string) =>
      run.file(name, composePlanFile({ service, settings: [change] }, '0.0.1', times))
    save('other.plan', from)
    const other = await diff('other.plan')
    expect(other.stdout).to.contain(`Plan for ${from}, made 2020-01-02T03:04:05.000Z (`)
    expect(other.stdout).to.contain('days ago) by chatctl 0.0.1.')
    expect(other).to.include({ exitCode: 0 })
    expect(other.stderr).to.contain('settings apply refuses this plan here: The plan other.plan is for ')
    expect(JSON.parse((await diff('other.plan', '--json')).stdout).plan).to.include({ refused: true })
    save('old.plan', `${run.server.url}/`)
    expect((await diff('old.plan')).stderr).to.contain('was made by chatctl 0.0.1')
    expect((await run.settings(['apply', 'settings.plan', '--yes'])).exitCode).to.equal(0)
    expect((await diff('settings.plan')).stderr).to.contain('was already sent')
  })
})

const patch = { theme: { mode: 'dark' }, limits: { max_tokens: 5 } }

describe('settings apply', () => {
  const run = perTest(() => SettingsRun.start())
  beforeEach(() => {
    run.file('settings.yaml', `app_name: Chat\ntheme: { mode: dark }\nlimits: { max_tokens: 5 }\n`)
  })
  const apply = (...args: string[]) => run.settings(['apply', ...args])
  const yes = (...args: string[]) => apply(...args, '--yes')

  it('sends only the keys that differ, once, and reads them back', async () => {
    const { stdout, stderr } = expectSuccess(await yes('settings.yaml'))
    expect(stdout).to.equal('Applied and verified: theme.mode, limits.max_tokens\n')
    expect(stderr).to.contain('theme.mode         "light" → "dark"')
    expect(run.methods).to.equal('GET GET PATCH GET')
    expect(run.changes).to.deep.equal([{ method: 'PATCH', body: patch }])
  })

  it('leaves no difference, so that a second run has nothing to do', async () => {
    await yes('settings.yaml')
    run.server.requests.length = 0
    expect(await run.settings(['diff', 'settings.yaml', '--exit-code'])).to.include({ exitCode: 0 })
    expect(await apply('settings.yaml')).to.include({ exitCode: 0, stdout: '' })
    const again = await yes('settings.yaml', '--json')
    expect(JSON.parse(again.stdout)).to.deep.equal({ changes: [], applied: false })
    expect(JSON.parse(again.stderr).notice.message).to.match(/^No changes/)
    expect(run.methods).to.equal('GET GET GET')
  })

  it('prints the changes with --json, and nothing on stderr', async () => {
    const { stdout, stderr } = await yes('settings.yaml', '--json')
    expect(stderr).to.equal('')
    const tokens = { path: 'limits.max_tokens', from: 4096, to: 5 }
    expect(JSON.parse(stdout)).to.deep.equal({ changes: [...changes, tokens], applied: true })
  })

  it('layers files, and replaces variables with --expand-env', async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the test replaces this reference
    run.file('team.yaml', 'app_name: "${TEAM}"\ntheme: { mode: contrast }')
    const args = ['apply', 'settings.yaml', '--file', 'team.yaml', '--expand-env', '--yes']
    expectFailure(await run.settings(args), 2, 'TEAM')
    expect((await run.settings(args, { env: { TEAM: 'Blue' } })).exitCode).to.equal(0)
    expect(run.changes).to.deep.equal([
      { method: 'PATCH', body: { app_name: 'Blue', theme: { mode: 'contrast' }, limits: { max_tokens: 5 } } },
    ])
  })

  it('changes the embedded service in a non-interactive run only with --profile local', async () => {
    const env = { CHATCTL_BASE_URL: '', CHATCTL_API_KEY: '' }
    const args = ['apply', 'settings.yaml', '--yes']
    expectFailure(await run.settings(args, { env }), 2, 'No service is selected', '--profile local')
    expect((await run.settings([...args, '--profile', 'local'], { env })).exitCode).to.equal(0)
    expect((await run.settings(['diff', 'settings.yaml', '--exit-code'], { env })).exitCode).to.equal(0)
  })

  it('prints each request with --dry-run and sends none', async () => {
    run.file('both.yaml', 'settings: { theme: { mode: dark } }\napi: { version: v2 }')
    const { exitCode, stdout, stderr } = await apply('both.yaml', '--dry-run', '--json')
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    const url = `${run.server.url}/v1/settings`
    const changed = { method: 'PATCH', url, body: { theme: { mode: 'dark' } } }
    const sent = { method: 'POST', url: `${url}/api`, body: { version: 'v2' } }
    expect(JSON.parse(stdout)).to.deep.equal([changed, sent])
    const words = await apply('both.yaml', '--dry-run')
    expect(words.stdout).to.match(/^PATCH \S+\n\{\n.+\n\}\n\nPOST \S+\n\{\n.+\n\}\n$/s)
    expect(run.changes).to.deep.equal([])
    expect(JSON.parse((await run.settings(['diff', 'both.yaml', '--json'])).stdout).changes).to.have.length(2)
  })

  describe('when the settings change after the plan is made', () => {
    /** Another user changes a setting after the first reading. */
    const meanwhile = (change: object, times = 1) => {
      run.server.onRead = (count) => {
        if (count > 0 && count <= times) run.server.change({ ...change })
        return undefined
      }
    }

    it('exits 7, names the key, and sends nothing', async () => {
      meanwhile({ theme: { mode: 'contrast' } })
      const refused = await yes('settings.yaml')
      expectFailure(refused, 7, 'theme.mode was "light" and is now "contrast"', '--refresh')
      expect(run.changes).to.deep.equal([])
    })

    it('makes and shows a new plan with --refresh', async () => {
      meanwhile({ app_name: 'Other' })
      const { stderr } = expectSuccess(await yes('settings.yaml', '--refresh'))
      expect(stderr).to.contain('These are the new differences').and.contain('"Other" → "Chat"')
      expect(run.changes).to.deep.equal([{ method: 'PATCH', body: { app_name: 'Chat', ...patch } }])
    })

    it('exits 7 with --refresh if the settings keep changing', async () => {
      let turn = 0
      run.server.onRead = () => {
        run.server.change({ app_name: `${turn++}` })
        return undefined
      }
      expectFailure(await yes('settings.yaml', '--refresh'), 7, 'app_name was')
      expect(run.changes).to.deep.equal([])
    })
  })

  describe('with a plan', () => {
    beforeEach(async () => {
      await run.settings(['diff', 'settings.yaml', '--save', 'settings.plan'])
      run.server.requests.length = 0
    })

    it('applies the plan as it was made, and only once', async () => {
      run.file('settings.yaml', 'app_name: Other')
      expect((await yes('settings.plan')).exitCode).to.equal(0)
      expect(run.changes).to.deep.equal([{ method: 'PATCH', body: patch }])
      run.server.change({ theme: { mode: 'light' }, limits: { max_tokens: 4096 } })
      expectFailure(await yes('settings.plan'), 7, 'was already sent', 'settings diff FILE --save PLAN')
      expect(run.changes).to.have.length(1)
    })

    it('reads the plan from stdin', async () => {
      expectSuccess(await run.settings(['apply', '-', '--yes'], { stdin: run.read('settings.plan') }))
    })

    it('exits 7 before the confirmation prompt if a managed key has changed', async () => {
      run.server.change({ theme: { mode: 'contrast' } })
      const outdated = await apply('settings.plan')
      expectFailure(outdated, 7, 'theme.mode was "light" and is now "contrast"')
      expect(outdated.stderr).to.contain('with: chatctl settings apply settings.plan --refresh\n')
      expect(run.methods).to.equal('GET')
    })

    it('exits 7 for a plan without changes if a managed key has changed', async () => {
      run.server.change(patch)
      await run.settings(['diff', 'settings.yaml', '--save', 'done.plan'])
      expect((await yes('done.plan')).stderr).to.contain('No changes')
      run.server.change({ app_name: 'Other' })
      expectFailure(await yes('done.plan'), 7, 'app_name was "Chat"')
    })

    it('rejects other files and --expand-env together with a plan', async () => {
      expectFailure(await yes('settings.plan', '--file', 'settings.yaml'), 2, 'is a plan')
      expectFailure(await yes('settings.yaml', '--file', 'settings.plan'), 2, 'is a plan')
      expectFailure(await yes('settings.plan', '--expand-env'), 2, 'is a plan')
    })

    it('updates an outdated or applied plan with --refresh', async () => {
      run.server.change({ theme: { mode: 'contrast' } })
      expect((await yes('settings.plan', '--refresh')).stderr).to.contain('"contrast" → "dark"')
      run.server.change({ theme: { mode: 'light' } })
      expect((await yes('settings.plan', '--refresh')).exitCode).to.equal(0)
      expect(run.server.settings['theme']).to.deep.equal({ primary_color: '#112233', mode: 'dark' })
    })

    it('accepts the plan again after a refusal, but not after a lost response', async () => {
      run.server.faults.set('PATCH /v1/settings', failing(403, 'forbidden', 'No'))
      expectFailure(await yes('settings.plan'), 5)
      run.server.faults.set('PATCH /v1/settings', answer(500))
      // chatctl reads the settings back for ten seconds.
      const host = { clock: hurriedClock() }
      const lost = await run.settings(['apply', 'settings.plan', '--yes'], { host })
      expectFailure(lost, 69, 'The outcome of the change is unknown', 'settings get')
      expectFailure(await yes('settings.plan'), 7, 'was already sent')
    })
  })

  describe('with an API configuration', () => {
    const api = { version: 'v2', cors: { allowed_origins: ['https://a.example'] } }
    beforeEach(() => run.file('both.json', JSON.stringify({ settings: patch, api })))

    it('compares with the configuration that was last sent, and sends all managed keys', async () => {
      const first = await run.settings(['diff', 'both.json'])
      expect(first.stdout).to.contain('compared with what was last sent from here (not known)')
      expect(first.stdout).to.contain('api.version               none → "v2"')
      expect((await yes('both.json')).stdout).to.equal(
        'Applied and verified: theme.mode, limits.max_tokens\n' +
          'Sent, and cannot be read back: api.version, api.cors.allowed_origins\n',
      )
      expect(run.changes).to.deep.equal([
        { method: 'PATCH', body: patch },
        { method: 'POST', body: api },
      ])
      expect(await run.settings(['diff', 'both.json', '--exit-code'])).to.include({ exitCode: 0 })

      run.file('both.json', JSON.stringify({ api: { ...api, version: 'v3' } }))
      const shown = JSON.parse((await run.settings(['diff', 'both.json', '--json'])).stdout).changes
      expect(shown).to.deep.equal([{ path: 'api.version', from: 'v2', to: 'v3', compared_with: 'last_sent' }])
      await yes('both.json')
      expect(run.changes.at(-1)).to.deep.equal({ method: 'POST', body: { ...api, version: 'v3' } })
    })

    it('applies a plan on a machine that has sent nothing, or something before the plan was made', async () => {
      await yes('both.json')
      run.file('both.json', JSON.stringify({ api: { ...api, version: 'v3' } }))
      const fresh = createSandbox()
      const used = createSandbox()
      const on = (machine: Sandbox, ...args: string[]) =>
        runChatctl(machine, ['settings', ...args], { env: run.env })
      await on(used, 'api', 'set', '--version', 'v9')
      await run.settings(['diff', 'both.json', '--save', 'both.plan'])
      for (const machine of [fresh, used]) {
        run.server.requests.length = 0
        const plan = join(run.sandbox.home, 'both.plan')
        const { stderr } = expectSuccess(await on(machine, 'apply', plan, '--yes'))
        expect(stderr).to.contain('compared with what was last sent from the machine that made the plan (20')
        expect(run.changes).to.deep.equal([{ method: 'POST', body: { ...api, version: 'v3' } }])
        machine.remove()
      }
    })
  })
})

describe('settings apply, set, and edit after a lost response', () => {
  const unknown = 'Error: The outcome of the change is unknown: '

  it('exit 69 and name what to check while the old value is still found', async () => {
    const runs = await Promise.all([0, 1, 2].map(() => SettingsRun.start()))
    const [applying, setting, editing] = runs as [SettingsRun, SettingsRun, SettingsRun]
    for (const { server } of runs) server.faults.set('PATCH /v1/settings', html502)
    applying.file('base.yaml', 'app_name: New')
    applying.file('more.yaml', 'limits: { max_tokens: 5 }')
    const editor = editing.file('editor', `#!/bin/sh\nsed -i 's/app_name: .*/app_name: New/' "$1"\n`, 0o700)
    // chatctl reads the settings back for ten seconds.
    const host = { clock: hurriedClock() }
    const [applied, set, edited] = await Promise.all([
      applying.settings(['apply', 'base.yaml', '--file', 'more.yaml', '--yes'], { host }),
      setting.settings(['set', 'app_name=New', '--json'], { host }),
      editing.settings(['edit', '--yes'], { env: { EDITOR: editor }, host }),
    ])

    expectFailure(
      applied,
      69,
      unknown,
      'HTTP 502',
      'app_name is "Chat", not ',
      'Check the current settings with: chatctl settings get',
    )
    expect(set).to.include({ exitCode: 69, stdout: '' })
    const { error } = JSON.parse(set.stderr)
    expect(error).to.include({
      code: 'unknown_outcome',
      hint: 'Check the current settings with: chatctl settings get app_name',
    })
    expect(error.details.keys).to.deep.equal([{ path: 'app_name', expected: 'New', found: 'Chat' }])
    expectFailure(edited, 69, unknown, 'with: chatctl settings get')
    const kept = /chatctl settings apply (\S+)/.exec(edited.stderr)?.[1] ?? ''
    expect(readFileSync(kept, 'utf8')).to.contain('app_name: New')
    for (const run of runs) {
      expect(run.changes).to.have.length(1)
      await run.stop()
    }
  })

  it('succeed with a warning if the service makes the change only after the timeout', async () => {
    const run = await SettingsRun.start()
    const changeLate = delayed(500, () => run.server.change({ app_name: 'New' }))
    run.server.faults.set('PATCH /v1/settings', changeLate)
    const { exitCode, stdout, stderr } = await run.settings(
      'set app_name=New --json --timeout 250ms'.split(' '),
    )
    expect(exitCode, stderr).to.equal(0)
    expect(JSON.parse(stdout)).to.deep.equal(run.server.settings)
    expect(JSON.parse(stderr).warning.message).to.contain('within 250 ms')
    await run.stop()
  })
})
