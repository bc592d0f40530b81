import { expect } from 'chai'
import * as fc from 'fast-check'
import { readSettingsFiles } from '../../src/plan/file/read-settings-files.ts'
import { settingsFileView } from '../../src/view/settings-file.ts'
import { SettingsRun } from './settings-run.ts'

describe('settings export', () => {
  let run: SettingsRun
  beforeEach(async () => {
    run = await SettingsRun.start()
  })
  afterEach(() => run.stop())

  it('names its schema first, and says what each field means and what to do with it', async () => {
    const { stdout, stderr } = await run.settings(['export'])
    expect(stderr).to.equal('')
    expect(stdout).to.match(/^# yaml-language-server: \$schema=\.\/settings\.schema\.json\n/)
    for (const words of [
      'chatctl settings schema > settings.schema.json',
      'chatctl settings apply settings.yaml',
      '# Most tokens that one completion may generate\n  max_tokens: 4096\n',
    ]) {
      expect(stdout).to.contain(words)
    }
  })

  it('differs in nothing from what the service has', async () => {
    run.file('settings.yaml', (await run.settings(['export'])).stdout)
    run.file('settings.json', (await run.settings(['export', '--json'])).stdout)
    for (const file of ['settings.yaml', 'settings.json']) {
      const { exitCode, stdout } = await run.settings(['diff', file, '--exit-code'])
      expect({ exitCode, stdout }).to.deep.equal({
        exitCode: 0,
        stdout: 'No differences in 8 managed keys.\n',
      })
    }
  })

  it('leaves out what cannot be set again, and names what is documented of it', async () => {
    run.service.change({ theme: { primary_color: 'tomato', x_font: 'serif' }, limits: { max_tokens: null } })
    const { stdout, stderr } = await run.settings(['export'])
    expect(stdout).not.to.match(/primary_color|x_font|x_extra|max_tokens/)
    expect(stderr).to.contain('theme.primary_color').and.not.contain('max_tokens')
    run.file('settings.yaml', stdout)
    expect((await run.settings(['diff', 'settings.yaml', '--exit-code'])).exitCode).to.equal(0)
    const { stdout: json } = await run.settings(['export', '--json', '--quiet'])
    expect(JSON.parse(json)).to.deep.equal({
      app_name: 'Chat',
      theme: { mode: 'light' },
      features: { chat: true, file_upload: false, code_completion: true },
      limits: { max_requests_per_min: 60 },
    })
  })

  it('is comments alone where there is nothing to set, to be written below', async () => {
    run.service.settings = {}
    const { stdout } = await run.settings(['export'])
    expect(stdout).to.match(/^(#.*\n)+$/)
    run.file('settings.yaml', `${stdout}app_name: New\n`)
    expect((await run.settings(['apply', 'settings.yaml', '--yes'])).exitCode).to.equal(0)
  })

  it('is read again as what it was, whatever the texts are', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({
        unit: fc.constantFrom('#', ':', ' ', '\n', '"', "'", '-', '|', '>', '&', '*', '%', '\t', 'n', '~'),
      }),
      fc.constantFrom(
        'on',
        'null',
        '~',
        '1',
        '1.0',
        '0x1',
        'true',
        '---',
        '...',
        '2026-01-01',
        '<<',
        '$schema',
      ),
    )
    fc.assert(
      fc.property(text, text, fc.integer(), fc.boolean(), (app_name, mode, max_tokens, chat) => {
        const settings = { app_name, theme: { mode }, features: { chat }, limits: { max_tokens } }
        const file = String(settingsFileView.text?.(settings))
        expect(readSettingsFiles([{ name: 'settings.yaml', text: file }]).settings).to.deep.equal(settings)
      }),
      { numRuns: 500, examples: [[' \n', '\n  \n', 0, false]] },
    )
  })
})
