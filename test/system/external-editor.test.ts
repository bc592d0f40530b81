import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { editOutside } from '../../src/system/external-editor.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { rejectedFailure } from '../support/thrown-failure.ts'

describe('the editor of a text', () => {
  const directory = perTest(makeEmptyDirectory)

  for (const [platform, editor] of [
    ['win32', 'notepad'],
    ['linux', 'vi'],
  ] as const) {
    it(`is ${editor} by default on ${platform}`, async function () {
      if (process.platform === 'win32') this.skip()
      writeFileSync(join(directory.path, editor), '#!/bin/sh\nexit 3\n', { mode: 0o700 })
      const editing = { fileName: 'a.md', env: { PATH: directory.path }, cwd: undefined, platform }
      const failure = await rejectedFailure(() =>
        editOutside('text', { ...editing, temporary: directory.path }),
      )
      expect(failure.message).to.equal(`The editor (${editor}) exited with 3. The text is unchanged`)
    })
  }

  it('can be left without saving, as with :cq in vi, and only one that cannot run has a hint', async function () {
    if (process.platform === 'win32') this.skip()
    const edit = (command: string) =>
      rejectedFailure(() =>
        editOutside('text', {
          fileName: 'a.md',
          command,
          env: { PATH: process.env['PATH'] },
          cwd: undefined,
          platform: 'linux',
          temporary: directory.path,
        }),
      )
    const left = await edit('false')
    expect(left).to.include({
      message: 'The editor (false) exited with 1. The text is unchanged',
      hint: undefined,
    })
    expect((await edit('no-such-editor')).hint).to.equal('Set VISUAL or EDITOR to another editor.')
  })

  it('needs a directory, whose variable has another name on Windows', async () => {
    for (const [platform, variable] of [
      ['win32', 'TEMP'],
      ['linux', 'TMPDIR'],
    ] as const) {
      const editing = { fileName: 'a.md', env: {}, cwd: undefined, platform, temporary: '/nowhere/x' }
      const failure = await rejectedFailure(() => editOutside('text', editing))
      expect(failure.hint).to.equal(`Set ${variable} to a directory that you can write to.`)
    }
  })
})
