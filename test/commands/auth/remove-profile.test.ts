import { expect } from 'chai'
import { editProfile, findCredentials, readProfiles } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { json } from '../../support/scripted-server.ts'
import { makeSignInWorld } from '../../support/sign-in-world.ts'

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
