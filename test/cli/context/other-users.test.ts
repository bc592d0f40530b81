import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { startFaultServer } from '../../support/fault-server.ts'
import { perSuite } from '../../support/lifetime.ts'
import { commands } from '../../support/manifest.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { SettingsService } from '../../support/settings-service.ts'

describe('other users of the machine', () => {
  const sandbox = perSuite(createSandbox)

  it('see no secret in the process list, because no flag takes a secret as its value', () => {
    const flags = commands.flatMap(({ id, flags }) =>
      Object.values(flags).map((flag) => ({ name: `${id} --${flag.name}`, type: flag.type })),
    )
    const secret = flags.filter(({ name }) => /password|secret|token\b|key\b/.test(name.split('--')[1] ?? ''))
    expect(secret.length).to.be.above(5)
    // Paths, addresses, and commands that print a secret are not secret.
    const open = /-(file|url|command)$|tls-key$/
    const taken = secret.filter(({ name, type }) => type === 'option' && !open.test(name))
    expect(taken.map(({ name }) => name)).to.deep.equal([])
  })

  it('cannot read the file that an editor opens, which is deleted afterward', async function () {
    if (process.platform === 'win32') return this.skip()
    const seen = join(sandbox.home, 'seen')
    const editor = join(sandbox.home, 'editor')
    const words = `#!/bin/sh\numask 000\n{ echo "$1"; stat -c %a "$1" "$(dirname "$1")"; } >${seen}\n`
    writeFileSync(editor, words, { mode: 0o700 })
    const service = await startFaultServer(new SettingsService().script)
    const env = {
      CHATCTL_BASE_URL: service.url,
      CHATCTL_API_KEY: 'k',
      EDITOR: editor,
      TMPDIR: sandbox.home,
    }
    const { exitCode, stderr } = await runChatctl(sandbox, ['settings', 'edit', '--yes'], { env })
    await service.close()
    expect(exitCode, stderr).to.equal(0)
    const [file = '', ...modes] = readFileSync(seen, 'utf8').trim().split('\n')
    expect(modes).to.deep.equal(['600', '700'])
    expect(dirname(dirname(file))).to.equal(sandbox.home)
    expect(existsSync(dirname(file))).to.equal(false)
  })
})
