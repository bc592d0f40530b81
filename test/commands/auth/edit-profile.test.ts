import { expect } from 'chai'
import { editProfile, findCredentials, readCredential, readProfiles } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { makeKey, serveInProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json } from '../../support/scripted-server.ts'
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
    expect(JSON.parse((await rename('work', 'acme', '--json')).stdout)).to.deep.equal({
      profile: 'acme',
      former_name: 'work',
    })
    expect(readCredential(sandbox)).to.deep.equal(before)
    const { profiles = {}, ...rest } = readProfiles(sandbox)
    expect(rest).to.deep.equal({ default_profile: 'acme', directories: { '~': 'acme' } })
    expect(Object.keys(profiles)).to.deep.equal(['acme'])
    expect(profiles['acme']).to.have.property('id', 'work')
    expect(await run('chat', 'models')).to.include({ exitCode: 0 })
    expect(server.refreshes()).to.deep.equal([])
  })

  it('exits 2 for local, for an unknown profile, and for a name that exists or is not valid', async () => {
    await run('config', 'set', 'model', 'm', '--profile', 'other')
    expectFailure(await rename('local', 'acme'), 2, 'is the embedded service')
    expectFailure(await rename('worker', 'acme'), 2, 'Unknown profile "worker"')
    for (const name of ['other', 'local', 'work'])
      expectFailure(await rename('work', name), 2, 'already exists')
    // The keychain of Windows ignores case.
    for (const name of ['Other', 'LOCAL'])
      expectFailure(await rename('work', name), 2, `already exists, and "${name}" differs only in case`)
    expectFailure(await rename('work', 'a b'), 2, 'is not a valid profile name')
    expect(Object.keys(readProfiles(sandbox).profiles ?? {})).to.deep.equal(['work', 'other'])
  })

  it('changes only the case of a name', async () => {
    expect(await rename('work', 'Work')).to.include({ exitCode: 0 })
    expect(readProfiles(sandbox)).to.have.nested.property('profiles.Work.id', 'work')
    expect(await run('chat', 'models', '--profile', 'Work')).to.include({ exitCode: 0 })
    expectFailure(await run('config', 'set', 'model', 'm', '--profile', 'work'), 2)
  })

  it('gives a new profile with the former name another credential', async () => {
    await rename('work', 'acme')
    const words = ['auth', 'login', '--with-api-key', '--profile', 'work', '--base-url', service.url]
    await runChatctl(sandbox, [...words, '--insecure-storage', '--no-verify'], { stdin: 'key-1\n' })
    expect(readProfiles(sandbox).profiles).to.have.nested.property('work.id', 'work-2')
    expect(findCredentials(sandbox)).to.have.length(2)
    expect(await run('chat', 'models', '--profile', 'acme')).to.include({ exitCode: 0 })
    expect(await rename('work', 'other')).to.include({ exitCode: 0 })
    expect(await rename('acme', 'work')).to.include({ exitCode: 0 })
    expect(readProfiles(sandbox).profiles?.['work']).not.to.have.property('id')
    expect(await run('chat', 'models', '--profile', 'work')).to.include({ exitCode: 0 })
  })
})

describe('auth rename while the service verifies a sign-in to the profile', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() =>
    startBearerService(async (token) => {
      if (token === 'key-2') await runChatctl(sandbox, ['auth', 'rename', 'work', 'acme'])
      return true
    }),
  )

  for (const [flags, stdin] of [
    [['--with-api-key', '--insecure-storage'], 'key-2\n'],
    [['--credential-command', 'echo key-2'], ''],
  ] as const)
    it(`keeps its credential, and ends auth login ${flags[0]} with 7`, async () => {
      await storeKey(sandbox, 'key-1', service)
      const words = ['auth', 'login', '--profile', 'work', '--base-url', service.url, ...flags]
      const login = await runChatctl(sandbox, words, { stdin })
      expectFailure(login, 7, 'Profile "work" is not the one that the sign-in began with')
      expect(readCredential(sandbox)).to.include({ key: 'key-1' })
      expect(Object.keys(readProfiles(sandbox).profiles ?? {})).to.deep.equal(['acme'])
      expect(readProfiles(sandbox).profiles?.['acme']).to.have.property('credential')
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

  it('keeps sessions, the mirror, and the last conversation, and is shown in every output', async () => {
    const before = await sessions()
    const matches = await found()
    expect([before.length, matches.length > 0]).to.deep.equal([1, true])
    const renamed = JSON.parse(await succeed('auth', 'rename', 'work', 'acme', '--json'))
    expect(renamed).to.deep.equal({ profile: 'acme', former_name: 'work' })
    expect(await sessions()).to.deep.equal(before.map((row) => ({ ...row, profile: 'acme' })))
    expect(await found()).to.have.length(matches.length)
    expect(JSON.parse(await succeed('history', 'sync', '--json'))).to.include({ added: 0, removed: 0 })
    const sent = JSON.parse(await succeed('chat', 'send', '--continue', 'And a zebra?', '--json'))
    expect(sent.context_id).to.equal(before[0]?.context_id)
    // Every output about a session shows the new name.
    const [{ id = '' } = {}] = before
    const [named] = JSON.parse(await succeed('chat', 'rename', id, 'zoo', '--json'))
    expect(named).to.have.property('profile', 'acme')
    expect(JSON.parse(await succeed('chat', 'show', id, '--json'))).to.have.property('profile', 'acme')
    for (const form of ['text', 'markdown', 'html'])
      expect(await succeed('chat', 'show', id, '-o', form)).to.contain(`zoo, session ${id}, profile acme`)
    const elsewhere = ['chat', '--resume', id, '--profile', 'local']
    const { stdout } = await runChatctl(sandbox, elsewhere, { terminal: { columns: 200 } })
    expect(stdout).to.contain(', profile acme').and.to.contain(`chatctl chat --resume ${id} --profile acme`)
    const [deleted] = JSON.parse(await succeed('chat', 'delete', id, '--yes', '--json'))
    expect(deleted).to.have.property('profile', 'acme')
  })

  it('shows sessions of a removed profile under no other name, and names no command that cannot resume them', async () => {
    await succeed('auth', 'rename', 'work', 'acme')
    await storeKey(sandbox, await makeKey(sandbox), service)
    await succeed('auth', 'remove', 'acme', '--yes')
    const [old] = JSON.parse(await succeed('chat', 'sessions', '--all', '--json'))
    expect(old).to.include({ profile: null, base_url: `${service.url}/` })
    expect(JSON.parse(await succeed('chat', 'show', old.id, '--json'))).to.have.property('profile', null)
    expect(await succeed('chat', 'show', old.id)).to.contain(`, session ${old.id}, profile work (removed)`)
    const resumed = await runChatctl(sandbox, ['chat', '--resume', old.id, '--profile', 'work'], {
      terminal: { columns: 200 },
    })
    expect(resumed.exitCode).to.equal(2)
    expect(resumed.stdout)
      .to.contain(
        `Session ${old.id} belongs to another service or profile: ${service.url}/, profile work (removed)`,
      )
      .and.to.contain(`chatctl chat show ${old.id}`)
      .and.not.to.contain('--resume')
  })
})

describe('auth remove', () => {
  const { sandbox, server, service } = makeSignInWorld()
  const run = (...args: string[]) => runChatctl(sandbox, args)

  beforeEach(async () => {
    plantSignIn(sandbox, { server, service })
    await run('config', 'set', 'directory.~/acme', 'work')
    await run('config', 'set', 'directory.~', 'local')
  })

  it('revokes and deletes the credential, and removes the profile and what names it', async () => {
    const { exitCode, stdout, stderr } = await run('auth', 'remove', 'work', '--yes', '--json')
    expect(exitCode, stderr).to.equal(0)
    expect(JSON.parse(stdout)).to.deep.equal({
      profile: 'work',
      default: true,
      directories: ['~/acme'],
      sign_outs: [{ profile: 'work', origin: service.url, signed_out: true, revoked: true }],
    })
    expect(stderr).to.contain('There is no default profile now')
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(readProfiles(sandbox)).to.deep.equal({ directories: { '~': 'local' }, profiles: {} })
  })

  it('deletes the credential of a profile that also has a credential command', async () => {
    await run('config', 'set', 'credential_command', 'op read x', '--profile', 'work')
    const dry = await run('auth', 'remove', 'work', '--dry-run', '--json')
    expect(JSON.parse(dry.stdout)).to.deep.include({ sign_out: [service.url] })
    const { exitCode, stdout, stderr } = await run('auth', 'remove', 'work', '--yes', '--json')
    expect(exitCode, stderr).to.equal(0)
    const row = { profile: 'work', origin: service.url, signed_out: true }
    expect(JSON.parse(stdout).sign_outs).to.deep.equal([
      { ...row, revoked: false, credential_command: 'op read x' },
      { ...row, revoked: true },
    ])
    expect(findCredentials(sandbox)).to.deep.equal([])
  })

  it('removes the profile if the server does not confirm the revocation, and warns', async () => {
    server.script.revoke = json(500, {})
    const { exitCode, stderr } = await run('auth', 'remove', 'work', '--yes')
    expect(exitCode).to.equal(0)
    expect(stderr).to.contain('may still be valid at the server')
    expect(readProfiles(sandbox).profiles).to.deep.equal({})
  })

  it('keeps the profile if its credential could not be deleted', async () => {
    editProfile(sandbox, 'work', {
      storage: undefined,
      credential: { origin: service.url, storage: 'keychain' },
    })
    expectFailure(await run('auth', 'remove', 'work', '--yes'), 4, 'keychain')
    expect(readProfiles(sandbox).profiles).to.have.property('work')
  })

  it('removes a profile without credentials on a machine without a keychain', async () => {
    await run('config', 'set', 'base_url', 'https://chat.example', '--profile', 'other')
    expect(await run('auth', 'remove', 'other', '--yes')).to.include({ exitCode: 0 })
    expect(readProfiles(sandbox).profiles).not.to.have.property('other')
  })

  it('changes nothing with --dry-run, and exits 3 without confirmation', async () => {
    const before = readProfiles(sandbox)
    expect(JSON.parse((await run('auth', 'remove', 'work', '--dry-run', '--json')).stdout)).to.deep.equal({
      remove: 'work',
      sign_out: [service.url],
      default: true,
      directories: ['~/acme'],
    })
    expectFailure(await run('auth', 'remove', 'work'), 3, 'Confirmation is required')
    expect(readProfiles(sandbox)).to.deep.equal(before)
    expect(findCredentials(sandbox)).to.have.length(1)
  })

  it('exits 2 for local and for an unknown profile', async () => {
    expectFailure(await run('auth', 'remove', 'local', '--yes'), 2, 'is the embedded service')
    const unknown = await run('auth', 'remove', 'worker', '--yes')
    expectFailure(unknown, 2, 'Unknown profile "worker"')
    expect(unknown.stderr).to.contain('Did you mean work?')
  })
})
