import { expect } from 'chai'
import * as fc from 'fast-check'
import { isUndocumentedKey, settingsDocument } from '../../../src/contract/resources/settings-file.ts'
import { readSettingsFiles } from '../../../src/settings/file/read-settings-files.ts'
import { valuesOf } from '../../../src/settings/plan.ts'
import { settingsFileView } from '../../../src/view/settings-file-view.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { SettingsRun } from './settings-run.ts'

describe('settings export', () => {
  const run = perTest(() => SettingsRun.start())

  it('begins with its schema, and explains each field and how to apply the file', async () => {
    const { stdout, stderr } = await run.settings(['export'])
    expect(stderr).to.equal('')
    expect(stdout).to.match(/^# yaml-language-server: \$schema=\.\/settings\.schema\.json\n/)
    for (const words of [
      'chatctl settings schema > settings.schema.json',
      'chatctl settings apply settings.yaml',
      '# Maximum number of tokens in a completion\n  max_tokens: 4096\n',
    ])
      expect(stdout).to.contain(words)
  })

  it('has no difference from the settings of the service', async () => {
    run.file('settings.yaml', (await run.settings(['export'])).stdout)
    run.file('settings.json', (await run.settings(['export', '--json'])).stdout)
    for (const file of ['settings.yaml', 'settings.json'])
      expect(await run.settings(['diff', file, '--exit-code'])).to.include({
        exitCode: 0,
        stdout: 'None of the 8 keys in the file differs.\n',
      })
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
