import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { CredentialOwner, CredentialStore } from '../../../src/auth/credentials/credential-store.ts'
import { keychainFailure } from '../../../src/auth/credentials/keychain-failure.ts'
import type { StoredCredential } from '../../../src/auth/credentials/stored-credential.ts'
import { tryProcessLock } from '../../../src/system/files/process-lock.ts'
import {
  changeCredential,
  editProfile,
  findCredentials,
  readCredential,
  readProfiles,
} from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { makeKey, serveInProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { storeKey } from '../../support/sign-in.ts'
import { makeSignInWorld } from '../../support/sign-in-world.ts'

describe('auth rename', () => {
  const { sandbox, server, service } = makeSignInWorld()
  const run = (...args: string[]) => runChatctl(sandbox, args)
  const rename = (...args: string[]) => run('auth', 'rename', ...args)

  beforeEach(() => plantSignIn(sandbox, { server, service }))

  it('keeps the sign-in, and renames the default profile and the directories of the profile', async () => {
    await run('config', 'set', 'directory.~', 'work')
    const before = readCredential(sandbox)
    const renamed = await rename('work', 'acme', '--json')
    expect(JSON.parse(renamed.stdout)).to.deep.equal({
      profile: 'acme',
      former_name: 'work',
      credentials: 1,
      sessions: 0,
      mirrors: 0,
    })
    expect(readCredential(sandbox)).to.deep.equal(before)
    const { profiles = {}, ...rest } = readProfiles(sandbox)
    expect(rest).to.deep.equal({ default_profile: 'acme', directories: { '~': 'acme' } })
    expect(Object.keys(profiles)).to.deep.equal(['acme'])
    expect(profiles['acme']).not.to.have.property('renamed_from')
    expect(await run('chat', 'models')).to.include({ exitCode: 0 })
    expect(server.refreshes()).to.deep.equal([])
  })

  it('moves the credentials for former addresses too', async () => {
    await run('config', 'set', 'base_url', 'http://127.0.0.1:9', '--profile', 'work')
    await rename('work', 'acme')
    const logout = await run('auth', 'logout', '--profile', 'acme', '--json')
    expect(JSON.parse(logout.stdout)).to.deep.include({
      profile: 'acme',
      origin: service.url,
      signed_out: true,
      revoked: true,
    })
    expect(findCredentials(sandbox)).to.deep.equal([])
  })

  it('changes nothing with --dry-run', async () => {
    const before = readProfiles(sandbox)
    const { exitCode, stdout } = await rename('work', 'acme', '--dry-run', '--json')
    expect(exitCode).to.equal(0)
    expect(JSON.parse(stdout)).to.deep.equal({ rename: 'work', name: 'acme' })
    expect(readProfiles(sandbox)).to.deep.equal(before)
  })

  it('exits 2 for local, for an unknown profile, and for a name that exists or is not valid', async () => {
    await run('config', 'set', 'model', 'm', '--profile', 'other')
    expectFailure(await rename('local', 'acme'), 2, 'is the embedded service')
    expectFailure(await rename('worker', 'acme'), 2, 'Unknown profile "worker"')
    for (const name of ['other', 'local', 'work'])
      expectFailure(await rename('work', name), 2, 'already exists')
    // The keychain of Windows ignores case.
    for (const name of ['Other', 'LOCAL', 'Work'])
      expectFailure(await rename('work', name), 2, `already exists, and "${name}" differs only in case`)
    expectFailure(await rename('work', 'a b'), 2, 'is not a valid profile name')
    expect(Object.keys(readProfiles(sandbox).profiles ?? {})).to.deep.equal(['work', 'other'])
  })

  it('changes nothing if the credential cannot be read', async () => {
    editProfile(sandbox, 'work', {
      storage: undefined,
      credentials: [{ origin: service.url, storage: 'keychain' }],
    })
    const before = readProfiles(sandbox)
    expectFailure(await rename('work', 'acme'), 4, 'keychain')
    expect(readProfiles(sandbox)).to.deep.equal(before)
  })

  it('renames a profile without credentials on a machine without a keychain', async () => {
    await run('config', 'set', 'base_url', 'https://chat.example', '--profile', 'other')
    expect(await rename('other', 'acme')).to.include({ exitCode: 0 })
    expect(readProfiles(sandbox).profiles).to.have.property('acme')
  })

  it('completes a rename that was interrupted before the configuration was changed', async () => {
    const [old = ''] = findCredentials(sandbox)
    const [credential, configuration] = [readFileSync(old, 'utf8'), readProfiles(sandbox)]
    await rename('work', 'acme')
    // The copy of an earlier run is replaced.
    changeCredential(sandbox, { access_token: 'stale' })
    writeFileSync(old, credential, { mode: 0o600 })
    writeFileSync(join(sandbox.home, '.config/chatctl/config.json'), JSON.stringify(configuration))
    expect(await run('chat', 'models')).to.include({ exitCode: 0 })
    expect(await rename('work', 'acme')).to.include({ exitCode: 0 })
    expect(readCredential(sandbox)).to.deep.equal(JSON.parse(credential))
  })

  it('completes a rename that was interrupted after the configuration was changed', async () => {
    const [old = ''] = findCredentials(sandbox)
    const credential = readFileSync(old, 'utf8')
    await rename('work', 'acme')
    writeFileSync(old, credential, { mode: 0o600 })
    editProfile(sandbox, 'acme', { renamed_from: 'work' })
    expect(await run('chat', 'models')).to.include({ exitCode: 0 })
    expect(await rename('work', 'acme')).to.include({ exitCode: 0 })
    expect(readCredential(sandbox)).to.deep.equal(JSON.parse(credential))
    expect(readProfiles(sandbox).profiles?.['acme']).not.to.have.property('renamed_from')
  })

  it('has the credential under the name in the configuration if the keychain fails at any call', async () => {
    for (let calls = 0; ; calls++) {
      const keychain = failingKeychain({ origin: service.url, profile: 'work' })
      const host = { openKeychain: () => keychain.store }
      const places = [{ origin: service.url, storage: 'keychain' }]
      const work = { base_url: service.url, credentials: places }
      const configuration = { default_profile: 'work', profiles: { work } }
      writeFileSync(join(sandbox.home, '.config/chatctl/config.json'), JSON.stringify(configuration))
      keychain.allow(calls)
      const { exitCode } = await runChatctl(sandbox, ['auth', 'rename', 'work', 'acme'], { host })
      const [name] = Object.keys(readProfiles(sandbox).profiles ?? {})
      expect(keychain.profiles(), `after ${calls} calls`).to.contain(name)
      keychain.allow(Infinity)
      if (exitCode !== 0) {
        const again = await runChatctl(sandbox, ['auth', 'rename', 'work', 'acme'], { host })
        expect(again.exitCode, again.stderr).to.equal(0)
      }
      expect(keychain.profiles()).to.deep.equal(['acme'])
      if (exitCode === 0) break
      expect(exitCode).to.equal(4)
      expect(calls, 'the number of calls').to.be.lessThan(10)
    }
  })

  it('refuses a second rename until the first one is complete', async () => {
    await rename('work', 'acme')
    editProfile(sandbox, 'acme', { renamed_from: 'work' })
    const refused = await rename('acme', 'third')
    expectFailure(refused, 2, 'is not completely renamed')
    expect(refused.stderr).to.contain('chatctl auth rename work acme')
    expect(await rename('work', 'acme')).to.include({ exitCode: 0 })
    expect(await rename('acme', 'third')).to.include({ exitCode: 0 })
  })
})

describe('auth rename with sessions and a mirror', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(
    () => serveInProcess(sandbox),
    (started) => started.stop(),
  )
  const run = (...args: string[]) => runChatctl(sandbox, args)
  const succeed = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await run(...args)
    expect(exitCode, stderr).to.equal(0)
    return stdout
  }
  const sessions = async (): Promise<{ id: string; context_id: string }[]> =>
    JSON.parse(await succeed('chat', 'sessions', '--json'))
  const found = async (): Promise<unknown[]> => {
    const lines = await succeed('history', 'search', 'hippopotamus', '-o', 'jsonl')
    return lines.trim().split('\n')
  }

  beforeEach(async () => {
    await storeKey(sandbox, await makeKey(sandbox), service)
    await succeed('chat', 'send', 'Where does a hippopotamus sleep?')
    await succeed('history', 'sync')
  })

  it('keeps sessions, the mirror, and the last conversation', async () => {
    const before = await sessions()
    const matches = await found()
    expect([before.length, matches.length > 0]).to.deep.equal([1, true])
    const renamed = JSON.parse(await succeed('auth', 'rename', 'work', 'a-longer-name', '--json'))
    expect(renamed).to.include({ credentials: 1, sessions: 1, mirrors: 1 })
    expect(await sessions()).to.deep.equal(before.map((row) => ({ ...row, profile: 'a-longer-name' })))
    expect(await found()).to.have.length(matches.length)
    const synced = JSON.parse(await succeed('history', 'sync', '--json'))
    expect(synced).to.include({ added: 0, removed: 0 })
    const [sent] = [JSON.parse(await succeed('chat', 'send', '--continue', 'And a zebra?', '--json'))]
    expect(sent.context_id).to.equal(before[0]?.context_id)
  })

  it('reports a session that is open elsewhere, and completes the rename when it is closed', async () => {
    const directory = join(sandbox.home, '.local', 'share', 'chatctl', 'sessions')
    const [name = ''] = readdirSync(directory).filter((entry) => entry.endsWith('.jsonl'))
    const release = tryProcessLock(join(directory, `${name}.lock`))
    const failed = await run('auth', 'rename', 'work', 'acme')
    release?.()
    expectFailure(failed, 7, 'open in another chatctl process')
    expect(failed.stderr).to.contain('chatctl auth rename work acme')
    expect(await sessions()).to.deep.equal([])
    await succeed('auth', 'rename', 'work', 'acme')
    expect(await sessions()).to.have.length(1)
    expect(readProfiles(sandbox).profiles?.['acme']).not.to.have.property('renamed_from')
  })
})

/** A keychain with one API key, which fails after so many calls. */
function failingKeychain(first: CredentialOwner) {
  const kept = new Map<string, StoredCredential>([
    [first.profile, { version: 1, kind: 'api_key', key: 'key-1' }],
  ])
  let left = Infinity
  const call = ({ origin, profile }: CredentialOwner): void => {
    if (left-- <= 0) throw keychainFailure(new Error('locked'), { service: origin, account: profile })
  }
  const store: CredentialStore = {
    storage: 'keychain',
    read: async (owner) => {
      call(owner)
      return kept.get(owner.profile)
    },
    write: async (owner, credential) => {
      call(owner)
      kept.set(owner.profile, credential)
    },
    delete: async (owner) => {
      call(owner)
      return kept.delete(owner.profile)
    },
  }
  return {
    store,
    profiles: () => [...kept.keys()],
    allow: (calls: number) => {
      left = calls
    },
  }
}
