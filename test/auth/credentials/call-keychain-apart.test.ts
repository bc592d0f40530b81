import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  callKeychainApart,
  hasDefaultCollection,
  hidesItems,
} from '../../../src/auth/credentials/call-keychain-apart.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { rejectedFailure } from '../../support/thrown-failure.ts'

describe('a keychain call in a child process', () => {
  const sandbox = perTest(createSandbox)

  it('says so if the program was moved or removed while it runs', async () => {
    const command = join(sandbox.home, 'chatctl')
    const request = { operation: 'get', service: 'chatctl:https://chat.example', account: 'work' } as const
    const { result } = callKeychainApart(request, { command, args: [], env: {} })
    const { code, message, hint } = await rejectedFailure(() => result)
    expect(code).to.equal('keychain_not_loaded')
    expect(message).to.contain('was moved or removed while it runs').and.contain(`${command} ENOENT`)
    expect(hint).to.equal('Start it again from its new location.')
  })
})

describe('a query about the default collection of a Secret Service', () => {
  before(function () {
    if (process.platform === 'win32') this.skip()
  })
  const directory = perTest(makeEmptyDirectory)

  /** The environment with a busctl that prints this. */
  const printing = (text: string, exitCode = 0): NodeJS.ProcessEnv => {
    const program = join(directory.path, 'busctl')
    writeFileSync(program, `#!/bin/sh\nprintf '${text}'\nexit ${exitCode}\n`)
    chmodSync(program, 0o755)
    return { PATH: directory.path }
  }

  it('returns true for a path, and false for the root path, which means none', async () => {
    const path = '/org/freedesktop/secrets/collection/login'
    expect(await hasDefaultCollection(printing(`o "${path}"\\n`))).to.equal(true)
    expect(await hasDefaultCollection(printing('o "/"\\n'))).to.equal(false)
  })

  it('tells a locked collection that hides its items from one that does not', async () => {
    expect(await hidesItems(printing('b true\\n', 1))).to.equal(true)
    expect(await hidesItems(printing('b true\\nt 1795704029\\n'))).to.equal(false)
    expect(await hidesItems(printing('b false\\nt 1795704029\\n'))).to.equal(false)
    expect(await hidesItems(printing('', 1))).to.equal(false)
  })

  it('does not tell without busctl, or if busctl fails', async () => {
    for (const env of [{ PATH: join(directory.path, 'nowhere') }, printing('', 1), printing('?')]) {
      expect(await hasDefaultCollection(env)).to.equal(undefined)
      expect(await hidesItems(env)).to.equal(false)
    }
  })
})
