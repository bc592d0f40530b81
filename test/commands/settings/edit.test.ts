import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { startChatctl } from '../../support/run-chatctl.ts'
import { failing } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'
import { SettingsRun } from './settings-run.ts'

/** Runs without a terminal. The confirmation prompt is tested in test/programs/settings-terminal.test.ts. */
describe('settings edit', () => {
  const run = perTest(() => SettingsRun.start())

  /** @param script for sh, in which `$1` is the file to edit */
  const edit = (script: string, args: string[] = ['--yes'], env: NodeJS.ProcessEnv = {}) => {
    const editor = run.file('editor', `#!/bin/sh\n${script}\n`, 0o700)
    return run.settings(['edit', ...args], { env: { EDITOR: editor, ...env } })
  }
  const directory = () => join(run.sandbox.home, '.local', 'state', 'chatctl', 'state', 'edits')
  const kept = () => {
    const [name = '', ...others] = readdirSync(directory())
    expect(others).to.deep.equal([])
    return join(directory(), name)
  }
  const setMode = (mode: string) => `sed -i 's/mode: .*/mode: ${mode}/' "$1"`

  it('opens the output of settings export in a private file, which is deleted afterward', async () => {
    const { stdout } = await run.settings(['export'])
    const copy = join(run.sandbox.home, 'copy')
    await edit(`cp "$1" '${copy}'; echo "$1" >> '${copy}'; stat -c %a "$1" "$(dirname "$1")" >> '${copy}'`)
    const lines = readFileSync(copy, 'utf8').split('\n')
    expect(lines.slice(0, -4).join('\n')).to.equal(stdout.trimEnd())
    expect(lines.at(-4)).to.match(/\/settings\.yaml$/)
    expect(lines.slice(-3)).to.deep.equal(['600', '700', ''])
    expect(existsSync(lines.at(-4) ?? '')).to.equal(false)
  })

  it('applies only what was changed in the editor', async () => {
    const { exitCode, stdout, stderr } = await edit(setMode('dark'))
    expect({ exitCode, stdout }, stderr).to.deep.equal({
      exitCode: 0,
      stdout: 'Applied and verified: theme.mode\n',
    })
    expect(run.changes).to.deep.equal([{ method: 'PATCH', body: { theme: { mode: 'dark' } } }])
  })

  it('leaves a removed key unchanged, and sets a key that was added', async () => {
    run.server.settings = { theme: { mode: 'light' } }
    await edit('printf "app_name: New\\n" > "$1"')
    expect(run.changes).to.deep.equal([{ method: 'PATCH', body: { app_name: 'New' } }])
  })

  for (const [what, script] of [
    ['the file is unchanged', 'true'],
    ['only comments were added', 'echo "# mine" >> "$1"'],
    ['the file is empty', ': > "$1"'],
    ['only comments remain', 'sed -i -n "/^ *#/p" "$1"'],
  ] as const)
    it(`reports that nothing was changed if ${what}`, async () => {
      expect(await edit(script)).to.include({ exitCode: 0, stderr: 'No changes.\n' })
      expect(run.methods).to.equal('GET')
    })

  it('prefers VISUAL to EDITOR, and supports arguments in it', async () => {
    const visual = run.file('visual', `#!/bin/sh\n[ "$1" = --wait ] && shift\n${setMode('dark')}\n`, 0o700)
    expect((await edit('exit 9', ['--yes'], { VISUAL: `${visual} --wait` })).exitCode).to.equal(0)
    expect(run.changes).to.have.length(1)
  })

  it('exits 3 without --yes or an editor in a non-interactive run, and sends nothing', async () => {
    expectFailure(await edit('true', []), 3, '--yes')
    expectFailure(await edit('true', ['--yes'], { EDITOR: '' }), 3, 'EDITOR')
    expect(run.server.requests).to.deep.equal([])
  })

  it('exits 2 if the editor fails', async () => {
    expectFailure(await edit(`${setMode('dark')}; exit 1`), 2, 'exited with 1')
    expect(run.methods).to.equal('GET')
  })

  for (const [what, bytes] of [
    ['not UTF-8', '\\303\\050'],
    ['not text', '\\000'],
  ])
    it(`sends nothing if the file is ${what}, and keeps the file`, async () => {
      const done = await edit(`printf 'app_name: a${bytes}\\n' > "$1"`, ['--yes'], {
        TMPDIR: run.sandbox.home,
      })
      expectFailure(done, 2, `${what}`)
      const path = /(\/\S+settings\.yaml)/.exec(done.stderr)?.[1] ?? ''
      expect(readFileSync(path, 'utf8')).to.contain('app_name: a')
      expect(run.changes).to.deep.equal([])
    })

  it('exits 143 after SIGTERM, although nothing was changed', async () => {
    const started = join(run.sandbox.home, 'started')
    const editor = `touch '${started}'; while [ -e '${started}' ]; do sleep 0.01; done #`
    const running = startChatctl(run.sandbox, ['settings', 'edit', '--yes'], {
      env: { ...run.env, EDITOR: editor },
    })
    await until(() => existsSync(started))
    running.interrupt('SIGTERM')
    rmSync(started)
    const stderr = 'Error: Interrupted. No change was sent to the service\n'
    expect(await running.ended).to.deep.equal({ exitCode: 143, stdout: '', stderr })
  })

  describe('when the change fails', () => {
    const expectKept = (stderr: string, words: string) => {
      const path = kept()
      expect(stderr).to.contain(`chatctl settings apply ${path}`)
      expect(readFileSync(path, 'utf8')).to.contain(words)
      expect(statSync(path).mode & 0o777).to.equal(0o600)
      expect(statSync(directory()).mode & 0o777).to.equal(0o700)
    }

    it('keeps the edited file if it is invalid', async () => {
      const done = await edit(`echo "shade: red" >> "$1"`)
      expectFailure(done, 2, 'settings.yaml:', 'shade')
      expectKept(done.stderr, 'shade: red')
      expect(run.methods).to.equal('GET')
    })

    it('keeps the edited file if the service refuses the change', async () => {
      run.server.faults.set('PATCH /v1/settings', failing(403, 'forbidden', 'No'))
      const done = await edit(setMode('dark'))
      expectFailure(done, 5, 'No')
      expectKept(done.stderr, 'mode: dark')
    })

    it('keeps the edited file, which can then be applied, if the same key changed meanwhile', async () => {
      run.server.onRead = (count) => {
        if (count === 1) run.server.change({ theme: { mode: 'contrast' } })
        return undefined
      }
      const done = await edit(setMode('dark'), ['--yes', '--json'])
      expect(done.exitCode).to.equal(7)
      const { message, hint } = JSON.parse(done.stderr).error
      expect(message).to.contain('theme.mode was "light" and is now "contrast"')
      expect(hint).not.to.contain('--refresh')
      expectKept(hint, 'mode: dark')
      expect((await run.settings(['apply', kept(), '--yes'])).exitCode).to.equal(0)
      expect(run.changes).to.deep.equal([{ method: 'PATCH', body: { theme: { mode: 'dark' } } }])
    })
  })
})
