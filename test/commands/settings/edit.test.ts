import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { isUndocumentedKey, settingsDocument } from '../../../src/contract/resources/settings-file.ts'
import { readSettingsFiles } from '../../../src/settings/file/read-settings-files.ts'
import { valuesOf } from '../../../src/settings/plan.ts'
import { settingsFileView } from '../../../src/view/settings-file-view.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
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
    const { stdout } = expectSuccess(await edit(setMode('dark')))
    expect(stdout).to.equal('Applied and verified: theme.mode\n')
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

  for (const [what, bytes] of Object.entries({ 'not UTF-8': '\\303\\050', 'not text': '\\000' }))
    it(`sends nothing if the file is ${what}, and keeps the file`, async () => {
      const env = { TMPDIR: run.sandbox.home }
      const done = await edit(`printf 'app_name: a${bytes}\\n' > "$1"`, ['--yes'], env)
      expectFailure(done, 2, what)
      const path = /(\/\S+settings\.yaml)/.exec(done.stderr)?.[1] ?? ''
      expect(readFileSync(path, 'utf8')).to.contain('app_name: a')
      expect(run.changes).to.deep.equal([])
    })

  it('exits 143 after SIGTERM, although nothing was changed', async () => {
    const started = join(run.sandbox.home, 'started')
    const editor = `touch '${started}'; while [ -e '${started}' ]; do sleep 0.01; done #`
    const env = { ...run.env, EDITOR: editor }
    const running = startChatctl(run.sandbox, ['settings', 'edit', '--yes'], { env })
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

describe('settings export', () => {
  const run = perTest(() => SettingsRun.start())

  it('begins with its schema, and explains each field and how to apply the file', async () => {
    const { stdout, stderr } = await run.settings(['export'])
    expect(stderr).to.equal('')
    expect(stdout).to.match(/^# yaml-language-server: \$schema=\.\/settings\.schema\.json\n/)
    expect(stdout)
      .to.contain('chatctl settings schema > settings.schema.json')
      .and.contain('chatctl settings apply settings.yaml')
      .and.contain('# Maximum number of tokens in a completion\n  max_tokens: 4096\n')
  })

  it('has no difference from the settings of the service', async () => {
    run.file('settings.yaml', (await run.settings(['export'])).stdout)
    run.file('settings.json', (await run.settings(['export', '--json'])).stdout)
    const same = { exitCode: 0, stdout: 'None of the 8 keys in the file differs.\n' }
    for (const file of ['settings.yaml', 'settings.json'])
      expect(await run.settings(['diff', file, '--exit-code'])).to.include(same)
  })

  it('writes the file of --to or of the argument, in the format of its extension', async () => {
    const env = { CHATCTL_OUTPUT: 'json' }
    for (const args of [['settings.yaml'], ['--to', 'settings.yaml'], ['--to', 'settings.json']]) {
      const { exitCode, stdout, stderr } = await run.settings(['export', ...args], { env })
      expect({ exitCode, stdout, stderr }).to.deep.equal({ exitCode: 0, stdout: '', stderr: '' })
    }
    expect(run.read('settings.yaml')).to.equal((await run.settings(['export'])).stdout)
    expect(run.read('settings.json')).to.equal((await run.settings(['export', '--json'])).stdout)
    const table = { env: { CHATCTL_OUTPUT: 'table' } }
    expect((await run.settings(['export', 'plain'], table)).stderr).to.equal('8 settings in plain\n')
    expect(run.read('plain')).to.equal(run.read('settings.yaml'))
    expect((await run.settings(['export', '--to', '-'])).stdout).to.match(/^# yaml/)
    for (const [args, words] of [
      [['--to', 's.toml'], '"s.toml": unknown file extension .toml'],
      [['s.yaml', '-o', 'tsv'], 'A settings file is YAML or JSON'],
      [['s.yaml', '--fields', 'key'], 'without --fields and --jq'],
      [['a.yaml', '--to', 'b.yaml'], '--to and an argument'],
    ] as const)
      expectFailure(await run.settings(['export', ...args]), 2, words)
    expect((await run.settings(['export', 's.json', '--jq', '.theme'])).exitCode).to.equal(2)
    expectFailure(await run.settings(['export', 'no/settings.yaml']), 1, 'Cannot write')
  })

  it('includes other keys and values as comments, or below $unmanaged', async () => {
    run.server.change({ theme: { primary_color: 'tomato', x_font: 'serif' }, limits: { max_tokens: null } })
    const { stdout, stderr } = await run.settings(['export'])
    expect(stdout).to.contain(
      '  mode: light\n  # x_font: "serif" # undocumented; apply with --allow-unknown-keys\n',
    )
    expect(stdout).to.match(
      /\n# x_extra: 1 # undocumented; apply with --allow-unknown-keys\n#\n# The service also has the following, which chatctl cannot set:\n# {3}theme: {"primary_color":"tomato"}\n$/,
    )
    expect(stdout).not.to.contain('max_tokens')
    expect(stderr).to.equal('chatctl cannot set these values of the service: theme.primary_color\n')
    const { stdout: json } = await run.settings(['export', '--json', '--quiet'])
    expect(JSON.parse(json)).to.deep.equal({
      app_name: 'Chat',
      theme: { mode: 'light' },
      features: { chat: true, file_upload: false, code_completion: true },
      limits: { max_requests_per_min: 60 },
      $unmanaged: { theme: { primary_color: 'tomato', x_font: 'serif' }, x_extra: 1 },
    })
    run.file('settings.yaml', stdout)
    run.file('settings.json', json)
    run.file('plain.yaml', (await run.settings(['export', '-o', 'yaml'])).stdout)
    for (const file of ['settings.yaml', 'settings.json', 'plain.yaml'])
      expect((await run.settings(['diff', file, '--exit-code'])).exitCode, file).to.equal(0)
  })

  it('contains only comments if there is nothing to set, and a key can be added', async () => {
    run.server.settings = {}
    const { stdout } = await run.settings(['export'])
    expect(stdout).to.match(/^(#.*\n)+$/)
    run.file('settings.yaml', `${stdout}app_name: New\n`)
    expect((await run.settings(['apply', 'settings.yaml', '--yes'])).exitCode).to.equal(0)
  })

  it('loses no value of the service, and is read back as the values that can be set', () => {
    const keys = [...'app_name theme mode features chat limits max_tokens __proto__'.split(' '), 'a\u2028b']
    const { value: anything } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom(null, true, 5, 'x', '\n', '\u2028app_name: x', '\u0085'),
        fc.array(tie('value'), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...keys), anything, { minKeys: 1 }), (settings) => {
        const { $unmanaged = {}, ...managed } = settingsDocument(settings)
        const isNull = ([, value]: [string, unknown]) => value === null
        const managedPaths = new Set(valuesOf(managed).keys())
        const left = [...valuesOf(managed), ...valuesOf($unmanaged)]
        const all = [...valuesOf(settings)]
        expect(left).to.have.deep.members(
          all.filter((leaf) => left.some(([path]) => path === leaf[0]) || !isNull(leaf)),
        )
        const text = String(settingsFileView.text?.({ ...managed, $unmanaged }))
        const readBack = () => readSettingsFiles([{ name: 'settings.yaml', text }]).settings
        if (valuesOf(managed).size > 0) expect(readBack()).to.deep.equal(managed)
        else expect(readBack).to.throw('No settings in')
        // YAML 1.1 has more line breaks than YAML 1.2, and each would end a comment.
        for (const line of text.split('\n').filter((one) => /^ *#/.test(one)))
          expect(line).not.to.match(/[\r\u0085\u2028\u2029]/)
        const uncommented = text.replace(/^( *)# (.*) # undocumented; .*$/gm, '$1$2')
        const expected = left.filter(([path]) => managedPaths.has(path) || isUndocumentedKey(path))
        const readAll = () =>
          readSettingsFiles([{ name: 'settings.yaml', text: uncommented }], { allowsUnknownKeys: true })
        if (expected.length > 0) expect([...valuesOf(readAll().settings)]).to.have.deep.members(expected)
      }),
    )
  })
})
