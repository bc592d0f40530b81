import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { hurriedClock } from '../../client/capture.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { answer, delayed, failing, html502 } from '../../support/scripted-server.ts'
import { SettingsRun } from './settings-run.ts'

const patch = { theme: { mode: 'dark' }, limits: { max_tokens: 5 } }

describe('settings apply', () => {
  const run = perTest(() => SettingsRun.start())
  beforeEach(() => {
    run.file('settings.yaml', `app_name: Chat\ntheme: { mode: dark }\nlimits: { max_tokens: 5 }\n`)
  })
  const apply = (...args: string[]) => run.settings(['apply', ...args])
  const yes = (...args: string[]) => apply(...args, '--yes')

  it('sends only the keys that differ, once, and reads them back', async () => {
    const { exitCode, stdout, stderr } = await yes('settings.yaml')
    expect({ exitCode, stdout }, stderr).to.deep.equal({
      exitCode: 0,
      stdout: 'Applied and verified: theme.mode, limits.max_tokens\n',
    })
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
    expect(JSON.parse(stdout)).to.deep.equal({
      changes: [
        { path: 'theme.mode', from: 'light', to: 'dark' },
        { path: 'limits.max_tokens', from: 4096, to: 5 },
      ],
      applied: true,
    })
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
    expect(JSON.parse(stdout)).to.deep.equal([
      { method: 'PATCH', url: `${run.server.url}/v1/settings`, body: { theme: { mode: 'dark' } } },
      { method: 'POST', url: `${run.server.url}/v1/settings/api`, body: { version: 'v2' } },
    ])
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
      const { exitCode, stderr } = await yes('settings.yaml', '--refresh')
      expect(exitCode, stderr).to.equal(0)
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
      const { exitCode } = await run.settings(['apply', '-', '--yes'], { stdin: run.read('settings.plan') })
      expect(exitCode).to.equal(0)
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
      const lost = await run.settings(['apply', 'settings.plan', '--yes'], {
        host: { clock: hurriedClock() },
      })
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
        const { exitCode, stderr } = await on(machine, 'apply', plan, '--yes')
        expect(exitCode, stderr).to.equal(0)
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
