import { join } from 'node:path'
import { expect } from 'chai'
import { callKeychainApart } from '../../../src/auth/credentials/call-keychain-apart.ts'
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
