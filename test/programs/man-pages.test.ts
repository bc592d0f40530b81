import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { root } from '../scripts/package-file.ts'

const manual = join(root, 'man')
const pages = readdirSync(manual)

describe('man pages', () => {
  it('exist for every command, group, and help topic', () => {
    const help = readdirSync(join(root, 'dist/help')).map((name) =>
      name.replace(/\.txt$/, '').replaceAll('.', '-'),
    )
    const named = pages.map((name) => name.replace(/\.[17]$/, ''))
    expect(named.sort()).to.deep.equal(help.filter((name) => name !== 'chatctl-complete').sort())
    expect(pages).to.include.members(['chatctl.1', 'chatctl-users-import.1', 'chatctl-exit-codes.7'])
  })

  it('pass mandoc -Tlint', () => {
    const { stdout, stderr, status } = spawnSync('mandoc', ['-Tlint', ...pages], {
      cwd: manual,
      encoding: 'utf8',
    })
    expect(stdout + stderr).to.equal('')
    expect(status).to.equal(0)
  })

  it('show commands as they are typed', () => {
    const { stdout } = spawnSync('mandoc', ['-T', 'utf8', 'chatctl-users-import.1'], {
      cwd: manual,
      encoding: 'utf8',
    })
    // Bold is a character that is struck twice.
    const text = stdout.replaceAll(/.[\b]/g, '')
    expect(text).to.contain('$ chatctl users import users.csv --dry-run')
    expect(text).to.match(/^ +--skip-invalid$/m)
    expect(text).to.contain('chatctl-environment(7)')
  })
})
