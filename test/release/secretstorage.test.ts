import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'chai'
import { type SecretService, startSecretService } from '../programs/keychain/secret-service.ts'
import { expectCode, keychainWorld, storedKey } from '../programs/keychain/stored-key.ts'
import { tokensSeen } from '../support/handlers/bearer.ts'
import type { Sandbox } from '../support/sandbox.ts'
import { describeSample } from '../support/take-sample.ts'
import { startKeePassXc } from './keepassxc.ts'

interface Item {
  attributes: Record<string, string>
  type: string
  secret: string
}

const client = join(import.meta.dirname, 'secretstorage-client.py')

const secretServices: [string, (sandbox: Sandbox) => Promise<Pick<SecretService, 'env' | 'close'>>][] = [
  ['GNOME Keyring', startSecretService],
  ['KeePassXC', startKeePassXc],
]

for (const [name, start] of secretServices) {
  describeSample(`items of ${name} that chatctl and SecretStorage use`, 1, () => {
    const { sandbox, keychain, service, run, models, ...world } = keychainWorld(start)
    const login = async (key: string, profile = 'work') => {
      const { exitCode, stderr } = await world.login(key, { profile })
      expect(exitCode, stderr).to.equal(0)
    }

    /** Runs SecretStorage with all items of a profile, by the attributes in docs/guides/sign-in.md. */
    const items = (operation: 'find' | 'change' | 'delete' = 'find', secret = ''): Item[] => {
      const attributes = { service: `chatctl:${service.url}`, username: 'work' }
      // Python of Debian, for which SecretStorage is installed.
      const { status, stdout, stderr } = spawnSync(
        '/usr/bin/python3',
        [client, operation, JSON.stringify(attributes)],
        { env: { ...sandbox.env, ...keychain.env }, encoding: 'utf8', input: secret, timeout: 20_000 },
      )
      expect(status, stderr).to.equal(0)
      return JSON.parse(stdout)
    }

    it('are found by service and username, once for each profile, also after another login', async () => {
      await login('canary-other', 'other')
      for (const key of ['canary-old', 'canary-new']) {
        await login(key)
        expect(items().map(({ secret }) => secret)).to.deep.equal([storedKey(key)])
      }
      expect(items()[0]?.attributes).to.include({ service: `chatctl:${service.url}`, username: 'work' })
    })

    it('are used as SecretStorage changed them', async () => {
      await login('canary-1')
      items('change', storedKey('canary-changed'))
      expect(await models()).to.include({ exitCode: 0, stderr: '' })
      expect(tokensSeen(service)).to.deep.equal(['canary-1', 'canary-changed'])
      items('change', 'canary-garbage')
      const failed = await models()
      expectCode(failed, 'keychain_unreadable')
      expect(failed.stderr).not.to.contain('canary')
    })

    it('are missing if SecretStorage deleted them, and can be stored again', async () => {
      await login('canary-1')
      items('delete')
      expectCode(await models(), 'unauthorized')
      expect(await run('auth logout -p work')).to.include({ exitCode: 0 })
      await login('canary-2')
      expect(items().map(({ secret }) => secret)).to.deep.equal([storedKey('canary-2')])
    })

    it('are deleted by a logout, which keeps those of other profiles', async () => {
      await login('canary-1')
      await login('canary-2', 'other')
      expect(await run('auth logout -p work')).to.include({ exitCode: 0 })
      expect(items()).to.deep.equal([])
      expect(await run('chat models -p other')).to.include({ exitCode: 0, stderr: '' })
    })
  })
}
