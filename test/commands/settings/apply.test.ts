import { join } from 'node:path'
import { expect } from 'chai'
import { composePlanFile } from '../../../src/settings/plan-file.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { hurriedClock } from '../../client/capture.ts'
import { barrier } from '../../support/barrier.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { answer, delayed, failing, json, reset } from '../../support/fault-server.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { SettingsRun } from './settings-run.ts'

const patch = { theme: { mode: 'dark' }, limits: { max_tokens: 5 } }

describe('settings apply', () => {
  const run = perTest(
    () => SettingsRun.start(),
    (opened) => opened.stop(),
  )
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

  it('exits 3 without --yes in a non-interactive run, and sends nothing', async () => {
    expectFailure(await apply('settings.yaml'), 3, '--yes', '"light" → "dark"')
    expect(run.changes).to.deep.equal([])
  })

  it('changes the embedded service in a non-interactive run only with --profile local', async () => {
    const env = { CHATCTL_BASE_URL: '', CHATCTL_API_KEY: '' }
    const args = ['apply', 'settings.yaml', '--yes']
    expectFailure(await run.settings(args, { env }), 2, 'No service is selected', '--profile local')
    expect((await run.settings([...args, '--profile', 'local'], { env })).exitCode).to.equal(0)
    const after = await run.settings(['diff', 'settings.yaml', '--exit-code'], { env })
    expect(after.exitCode).to.equal(0)
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
    const after = await run.settings(['diff', 'both.yaml', '--json'])
    expect(JSON.parse(after.stdout).changes).to.have.length(2)
  })

  describe('when the settings change after the plan is made', () => {
    /** Another user changes a setting after the first reading. */
    const meanwhile = (change: object, times = 1) => {
      run.service.otherwise = (method, count) => {
        if (method === 'GET' && count > 0 && count <= times) run.service.change({ ...change })
        return undefined
      }
    }

    it('exits 7, names the key, and sends nothing', async () => {
      meanwhile({ theme: { mode: 'contrast' } })
      expectFailure(
        await yes('settings.yaml'),
        7,
        'theme.mode was "light" and is now "contrast"',
        '--refresh',
      )
      expect(run.changes).to.deep.equal([])
    })

    it('continues if the changed key is not managed', async () => {
      meanwhile({ features: { chat: false } })
      expect((await yes('settings.yaml')).exitCode).to.equal(0)
      expect(run.changes).to.deep.equal([{ method: 'PATCH', body: patch }])
    })

    it('exits 7 if a managed key that already had its value has changed', async () => {
      meanwhile({ app_name: 'Other' })
      expectFailure(await yes('settings.yaml'), 7, 'app_name was "Chat" and is now "Other"')
    })

    it('makes and shows a new plan with --refresh', async () => {
      meanwhile({ app_name: 'Other' })
      const { exitCode, stderr } = await yes('settings.yaml', '--refresh')
      expect(exitCode, stderr).to.equal(0)
      expect(stderr).to.contain('This is a new plan').and.contain('"Other" → "Chat"')
      expect(run.changes).to.deep.equal([{ method: 'PATCH', body: { app_name: 'Chat', ...patch } }])
    })

    it('applies one of two concurrent files, and exits 7 for the other', async () => {
      run.file('other.yaml', 'theme: { mode: contrast }')
      const bothHaveRead = barrier(2)
      run.service.otherwise = (method, count) =>
        method === 'GET' && count < 2
          ? async (...exchange) => {
              await bothHaveRead()
              await json(200, run.service.settings)(...exchange)
            }
          : undefined
      const runs = await Promise.all([yes('settings.yaml'), yes('other.yaml')])
      const [applied, refused] = runs.toSorted((one, other) => (one.exitCode ?? 0) - (other.exitCode ?? 0))
      expect(applied?.exitCode, applied?.stderr).to.equal(0)
      expectFailure(
        refused as Run,
        7,
        'The settings have changed since the plan was made: theme.mode was "light"',
        '--refresh',
      )
      expect(run.changes).to.have.length(1)
    })

    it('exits 7 with --refresh if the settings keep changing', async () => {
      let turn = 0
      run.service.otherwise = (method) => {
        if (method === 'GET') run.service.change({ app_name: `${turn++}` })
        return undefined
      }
      expectFailure(await yes('settings.yaml', '--refresh'), 7, 'app_name was')
      expect(run.changes).to.deep.equal([])
    })
  })

  describe('after the request', () => {
    it('exits 7 and names the keys that did not take effect, despite a 200', async () => {
      run.service.otherwise = (method) => {
        if (method !== 'PATCH') return undefined
        run.service.change({ limits: { max_tokens: 5 } })
        return json(200, {})
      }
      const { exitCode, stderr, stdout } = await yes('settings.yaml', '--json')
      expect({ exitCode, stdout }).to.deep.equal({ exitCode: 7, stdout: '' })
      const { error } = JSON.parse(stderr)
      expect(error.message)
        .to.contain('theme.mode did not take effect: expected "dark", found "light"')
        .and.contain('200')
      expect(error.message).not.to.contain('max_tokens')
      expect(error.details.keys).to.deep.equal([{ path: 'theme.mode', expected: 'dark', found: 'light' }])
    })

    it('exits with the code of the refusal if the request was refused', async () => {
      run.service.otherwise = (method) => (method === 'PATCH' ? failing(403, 'forbidden', 'No') : undefined)
      expectFailure(await yes('settings.yaml'), 5, 'No')
    })

    it('warns if the response was lost but the change took effect', async () => {
      run.service.otherwise = (method) => {
        if (method !== 'PATCH') return undefined
        run.service.change(patch)
        return reset
      }
      const { exitCode, stdout, stderr } = await yes('settings.yaml')
      expect(exitCode, stderr).to.equal(0)
      expect(stdout).to.match(/^Applied and verified/)
      expect(stderr).to.contain('Warning: The settings have the new values, although the request failed')
      expect(run.changes).to.have.length(1)
    })

    it('warns if the service makes the change only after the timeout', async () => {
      run.service.otherwise = (method) =>
        method === 'PATCH' ? delayed(500, () => run.service.change(patch)) : undefined
      const { exitCode, stdout, stderr } = await yes('settings.yaml', '--timeout', '250ms')
      expect(exitCode, stderr).to.equal(0)
      expect(stdout).to.match(/^Applied and verified/)
      expect(stderr).to.contain('Warning: The settings have the new values').and.contain('within 250 ms')
      expect(run.changes).to.have.length(1)
    })

    it('warns about other settings that changed', async () => {
      run.service.otherwise = (method) => {
        if (method === 'PATCH') run.service.change({ theme: { primary_color: '#000000' } })
        return undefined
      }
      const { exitCode, stderr } = await yes('settings.yaml')
      expect(exitCode).to.equal(0)
      expect(stderr).to.contain('theme.primary_color changed from "#112233" to "#000000"')
    })
  })

  describe('with a plan', () => {
    beforeEach(async () => {
      await run.settings(['diff', 'settings.yaml', '--save', 'settings.plan'])
      run.server.requests.length = 0
    })
    const altered = (from: string, to: string) =>
      run.file('settings.plan', run.read('settings.plan').replace(from, to))

    it('recognizes values that a double cannot represent, such as 1e400', async () => {
      const odd = '{"theme":{"mode":"light"},"limits":{"max_tokens":1e400}}'
      const said = answer(200, { 'content-type': 'application/json' }, odd)
      run.service.otherwise = () => (run.changes.length === 0 ? said : undefined)
      run.file('settings.yaml', 'limits: { max_tokens: 4096 }\n')
      await run.settings(['diff', 'settings.yaml', '--save', 'odd.plan'])
      expect(await run.settings(['apply', 'odd.plan', '--yes'])).to.include({ exitCode: 0 })
    })

    it('applies the plan as it was made, and only once', async () => {
      run.file('settings.yaml', 'app_name: Other')
      expect((await yes('settings.plan')).exitCode).to.equal(0)
      expect(run.changes).to.deep.equal([{ method: 'PATCH', body: patch }])
      run.service.change({ theme: { mode: 'light' }, limits: { max_tokens: 4096 } })
      expectFailure(await yes('settings.plan'), 7, 'was already sent', 'settings diff FILE --save PLAN')
      expect(run.changes).to.have.length(1)
    })

    it('reads the plan from stdin', async () => {
      const { exitCode } = await run.settings(['apply', '-', '--yes'], { stdin: run.read('settings.plan') })
      expect(exitCode).to.equal(0)
    })

    it('exits 7 before the confirmation prompt if a managed key has changed', async () => {
      run.service.change({ theme: { mode: 'contrast' } })
      const outdated = await apply('settings.plan')
      expectFailure(outdated, 7, 'theme.mode was "light" and is now "contrast"')
      expect(outdated.stderr).to.contain('with: chatctl settings apply settings.plan --refresh\n')
      expect(run.methods).to.equal('GET')
    })

    it('exits 7 for a plan without changes if a managed key has changed', async () => {
      run.service.change(patch)
      await run.settings(['diff', 'settings.yaml', '--save', 'done.plan'])
      expect((await yes('done.plan')).stderr).to.contain('No changes')
      run.service.change({ app_name: 'Other' })
      expectFailure(await yes('done.plan'), 7, 'app_name was "Chat"')
    })

    it('exits 7 for another service', async () => {
      const other = await SettingsRun.start()
      other.file('settings.plan', run.read('settings.plan'))
      expectFailure(await other.settings(['apply', 'settings.plan', '--yes']), 7, run.server.url)
      expect(other.server.requests).to.deep.equal([])
      await other.stop()
    })

    it('exits 2 if the plan was altered', async () => {
      altered('"dark"', '"dork"')
      expectFailure(await yes('settings.plan'), 2, 'was changed or truncated')
      expectFailure(await yes('settings.plan', '--refresh'), 2, 'was changed or truncated')
      expect(run.server.requests).to.deep.equal([])
    })

    it('exits 7 for another version of chatctl, unless --refresh is set', async () => {
      const service = `${run.server.url}/`
      const settings = [{ path: 'theme.mode', from: 'light', to: 'dark' }]
      run.file('old.plan', composePlanFile({ service, settings }, '0.0.1', systemClock))
      expectFailure(await yes('old.plan'), 7, 'made by chatctl 0.0.1')
      expect(run.server.requests).to.deep.equal([])
      expect((await yes('old.plan', '--refresh')).exitCode).to.equal(0)
    })

    it('rejects other files and --expand-env together with a plan', async () => {
      expectFailure(await yes('settings.plan', '--file', 'settings.yaml'), 2, 'is a plan')
      expectFailure(await yes('settings.yaml', '--file', 'settings.plan'), 2, 'is a plan')
      expectFailure(await yes('settings.plan', '--expand-env'), 2, 'is a plan')
    })

    it('updates an outdated or applied plan with --refresh', async () => {
      run.service.change({ theme: { mode: 'contrast' } })
      expect((await yes('settings.plan', '--refresh')).stderr).to.contain('"contrast" → "dark"')
      run.service.change({ theme: { mode: 'light' } })
      expect((await yes('settings.plan', '--refresh')).exitCode).to.equal(0)
      expect(run.service.settings['theme']).to.deep.equal({ primary_color: '#112233', mode: 'dark' })
    })

    it('accepts the plan again after a refusal, but not after a lost response', async () => {
      run.service.otherwise = (method) => (method === 'PATCH' ? failing(403, 'forbidden', 'No') : undefined)
      expectFailure(await yes('settings.plan'), 5)
      run.service.otherwise = (method) => (method === 'PATCH' ? answer(500) : undefined)
      // chatctl reads the settings back for five seconds.
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
      const applied = await yes('both.json')
      expect(applied.stdout).to.equal(
        'Applied and verified: theme.mode, limits.max_tokens\n' +
          'Sent, and cannot be read back: api.version, api.cors.allowed_origins\n',
      )
      expect(run.changes).to.deep.equal([
        { method: 'PATCH', body: patch },
        { method: 'POST', body: api },
      ])
      expect(await run.settings(['diff', 'both.json', '--exit-code'])).to.include({ exitCode: 0 })

      run.file('both.json', JSON.stringify({ api: { ...api, version: 'v3' } }))
      const { stdout } = await run.settings(['diff', 'both.json', '--json'])
      expect(JSON.parse(stdout).changes).to.deep.equal([
        { path: 'api.version', from: 'v2', to: 'v3', compared_with: 'last_sent' },
      ])
      await yes('both.json')
      expect(run.changes.at(-1)).to.deep.equal({ method: 'POST', body: { ...api, version: 'v3' } })
    })

    it('exits 7 for a plan if another configuration was sent from this machine since', async () => {
      await run.settings(['diff', 'both.json', '--save', 'both.plan'])
      await run.settings(['api', 'set', '--version', 'v9'])
      run.server.requests.length = 0
      expectFailure(
        await yes('both.plan'),
        7,
        'and is now "v9" (the API configuration was sent from this machine at 20',
      )
      expect(run.changes).to.deep.equal([])
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

    it('forgets the configuration that was last sent after a lost response', async () => {
      await yes('both.json')
      run.service.otherwise = (method) => (method === 'POST' ? reset : undefined)
      expectFailure(
        await run.settings(['api', 'set', '--version', 'v3']),
        69,
        'The outcome of the change is unknown',
        'cannot be read back. To send it again, run the same command again.',
      )
      run.service.otherwise = () => undefined
      const { stdout } = await run.settings(['diff', 'both.json'])
      expect(stdout).to.contain('(not known)')
    })
  })
})
