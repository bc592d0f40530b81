import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { hurriedClock } from '../../client/capture.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { delayed, html502 } from '../../support/scripted-server.ts'
import { SettingsRun } from './settings-run.ts'

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
