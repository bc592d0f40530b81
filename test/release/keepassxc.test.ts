import { expect } from 'chai'
import { expectCode, linesOf, loginWithKey } from '../programs/keychain/stored-key.ts'
import { startBearerService } from '../support/handlers/bearer.ts'
import { perTest } from '../support/lifetime.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { describeSample } from '../support/take-sample.ts'
import { type KeePassXc, type KeePassXcSettings, startKeePassXc } from './keepassxc.ts'

describeSample('a KeePassXC', 1, () => {
  const service = perTest(() => startBearerService(() => true))

  async function withKeePassXc(
    settings: KeePassXcSettings,
    work: (desktop: KeePassXc & ReturnType<typeof commandsOf>) => Promise<void>,
  ): Promise<void> {
    using sandbox = createSandbox()
    const keychain = await startKeePassXc(sandbox, settings)
    await work({ ...keychain, ...commandsOf(sandbox, keychain) }).finally(keychain.close)
  }

  const commandsOf = (sandbox: Sandbox, { env }: KeePassXc) => ({
    run: (...args: string[]) => runProgram(sandbox, [...args, '-p', 'work', '--json'], { env }),
    login: (key: string) => loginWithKey(sandbox, service, key, { env }),
  })

  it('that finds nothing because its database is locked causes an error that says so', () =>
    withKeePassXc({ unlocksBeforeSearch: false }, async ({ run, login, lock, unlock }) => {
      expect(await login('canary-1')).to.include({ exitCode: 0 })
      service.requests.length = 0
      await lock()
      for (const words of [
        ['chat', 'models'],
        ['auth', 'status'],
        ['auth', 'token'],
        ['auth', 'logout'],
      ]) {
        expectCode(await run(...words), 'keychain_locked')
      }
      expectCode(await login('canary-2'), 'keychain_locked')
      expect(service.requests).to.deep.equal([])
      await unlock()
      expect(await run('auth', 'token')).to.include({ exitCode: 0, stderr: '' })
    }))

  it('causes a timeout if no user answers its dialog to unlock the database, or to confirm the access', () =>
    Promise.all(
      [{ unlocksBeforeSearch: true }, { confirmsAccess: true }].map((settings) =>
        withKeePassXc(settings, async ({ run, login, lock }) => {
          expect(await login('canary-1')).to.include({ exitCode: 0 })
          if (settings.unlocksBeforeSearch) await lock()
          for (const failed of await Promise.all([run('chat', 'models'), login('canary-2')])) {
            expectCode(failed, 'keychain_timeout')
            expect(linesOf(failed)[0]?.notice?.message).to.contain('Waiting for the keychain')
            expect(failed.stderr).not.to.contain('canary')
          }
        }),
      ),
    ))
})
