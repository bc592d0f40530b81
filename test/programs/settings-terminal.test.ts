import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { SettingsRun } from '../commands/settings/settings-run.ts'
import { perTest } from '../support/lifetime.ts'
import { describeSample } from '../support/take-sample.ts'
import { Tmux } from './tmux.ts'

/** Output and prompts of settings as code in a terminal. */
describeSample('settings in a terminal', 2, () => {
  const run = perTest(() => SettingsRun.start())
  let terminal: Tmux | undefined
  beforeEach(() => {
    run.file('settings.yaml', 'theme: { mode: dark }\nlimits: { max_tokens: 5 }\n')
  })
  afterEach(async () => {
    await terminal?.close()
  })

  const start = async (line: string, script?: string) => {
    const EDITOR = script === undefined ? '' : run.file('editor', `#!/bin/sh\n${script}\n`, 0o700)
    terminal = await Tmux.start(run.sandbox, ['settings', ...line.split(' ')], {
      env: { ...run.env, EDITOR },
    })
    return terminal
  }
  const question = () => `Apply 2 changes to ${run.server.url}/?`
  const askedToApply = async (flags = '') => {
    const apply = await start(`apply settings.yaml${flags}`)
    expect(await apply.waitFor(question())).to.contain('"light" → "dark"')
    return apply
  }
  /** The script of an editor that changes the mode. */
  const changeMode = (mode: string) => `sed -i 's/mode: .*/mode: ${mode}/' "$1"`

  it('diff aligns the values, with old ones in red and new ones in green', async () => {
    const diff = await start('diff settings.yaml --exit-code')
    expect(await diff.waitFor('2 of the 2 keys in the file differ.')).to.equal(
      [
        '  theme.mode         "light" → "dark"',
        '  limits.max_tokens  4096    → 5',
        '',
        '2 of the 2 keys in the file differ.',
      ].join('\n'),
    )
    expect(await diff.styledScreen()).to.match(/theme\.mode +␛\[31m"light"␛\[39m → ␛\[32m"dark"/)
    expect(await diff.exitCode()).to.equal(10)
  })

  for (const [answer, exitCode, sent] of [
    ['y', 0, 1],
    ['n', 3, 0],
    ['', 3, 0],
  ] as const) {
    it(`apply shows the plan and asks for confirmation: ${answer || 'Enter'}`, async () => {
      const apply = await askedToApply()
      expect(run.changes).to.deep.equal([])
      await apply.say(answer)
      expect(await apply.exitCode()).to.equal(exitCode)
      expect(run.changes).to.have.length(sent)
      const screen = await apply.screen()
      if (sent > 0) expect(screen).to.contain('Applied and verified: theme.mode, limits.max_tokens')
      else expect(screen).to.contain('Nothing was changed')
    })
  }

  it('apply detects changes during the confirmation prompt', async () => {
    const apply = await askedToApply()
    run.server.change({ theme: { mode: 'contrast' } })
    await apply.say('y')
    expect(await apply.exitCode()).to.equal(7)
    expect((await apply.joined()).replace(/\s+/g, ' ')).to.contain(
      'theme.mode was "light" and is now "contrast"',
    )
    expect(run.changes).to.deep.equal([])
  })

  it('apply --refresh shows a new plan and asks for confirmation again', async () => {
    const apply = await askedToApply(' --refresh')
    run.server.change({ theme: { mode: 'contrast' } })
    await apply.say('y')
    await apply.waitFor('"contrast" → "dark"')
    expect(run.changes).to.deep.equal([])
    await apply.waitUntil((screen) => screen.split(question()).length > 2, 'the second question')
    await apply.say('y')
    expect(await apply.exitCode()).to.equal(0)
    expect(run.changes).to.have.length(1)
  })

  it('apply exits 130 after Ctrl-C at the confirmation prompt, and sends nothing', async () => {
    const apply = await askedToApply()
    await apply.key('C-c')
    expect(await apply.exitCode()).to.equal(130)
    expect(run.changes).to.deep.equal([])
  })

  describe('edit', () => {
    it('shows the changes, and asks for confirmation', async () => {
      const edit = await start('edit', changeMode('dark'))
      await edit.waitFor(`Apply 1 change to ${run.server.url}/?`)
      await edit.say('y')
      await edit.waitFor('Applied and verified: theme.mode')
      expect(await edit.exitCode()).to.equal(0)
    })

    it('shows an error, and offers to edit again', async () => {
      const script = `if grep -q 'mode: 5' "$1"; then ${changeMode('dark')}; else ${changeMode('5')}; fi`
      const edit = await start('edit', script)
      expect(await edit.waitFor('Edit it again?')).to.match(
        /Error: settings\.yaml:\d+:\d+: theme\.mode must be/,
      )
      await edit.say('y')
      await edit.waitFor('Apply 1 change')
      await edit.say('y')
      expect(await edit.exitCode()).to.equal(0)
      expect(run.changes).to.deep.equal([{ method: 'PATCH', body: { theme: { mode: 'dark' } } }])
    })

    it('keeps the invalid file if the user does not edit again', async () => {
      const edit = await start('edit', changeMode('5'))
      await edit.waitFor('Edit it again?')
      await edit.say('n')
      expect(await edit.exitCode()).to.equal(3)
      expect(await edit.joined()).to.match(/chatctl settings apply \S+\.yaml$/)
      expect(run.methods).to.equal('GET')
    })

    for (const [answer, exitCode] of [
      ['n', 3],
      ['C-c', 130],
    ] as const) {
      it(`keeps the file if the confirmation prompt is answered with ${answer}`, async () => {
        const edit = await start('edit', changeMode('dark'))
        await edit.waitFor('Apply 1 change')
        if (answer === 'n') await edit.say('n')
        else await edit.key('C-c')
        expect(await edit.exitCode()).to.equal(exitCode)
        const path = /chatctl settings apply (\S+\.yaml)/.exec(await edit.joined())?.[1] ?? ''
        expect(readFileSync(path, 'utf8')).to.contain('mode: dark')
        expect(path).to.contain(join('chatctl', 'state', 'edits'))
        expect(run.changes).to.deep.equal([])
      })
    }

    it('leaves Ctrl-C to the editor', async () => {
      const script = `trap 'echo trapped' INT; echo editing; until read line; do :; done; echo "app_name: $line" > "$1"`
      const edit = await start('edit', script)
      await edit.waitFor('editing')
      await edit.key('C-c')
      await edit.waitFor('trapped')
      await edit.say('Typed')
      await edit.waitFor('Apply 1 change')
      await edit.say('y')
      expect(await edit.exitCode()).to.equal(0)
    })
  })
})
