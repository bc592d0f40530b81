import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { readProfiles } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { type HostOptions, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('a directory with a profile', () => {
  const sandbox = perTest(createSandbox)
  let acme = ''
  const run = (args: string[], options: HostOptions = {}) =>
    runChatctl(sandbox, args, { cwd: acme, ...options })
  const profileWith = async (args: string[] = [], options: HostOptions = {}) => {
    const { stdout } = await run(['config', 'list', '-o', 'tsv', ...args], options)
    return stdout.split('\n')[0]?.split('\t').slice(1)
  }

  beforeEach(async () => {
    acme = join(sandbox.home, 'projects', 'acme')
    mkdirSync(join(acme, 'src'), { recursive: true })
    for (const name of ['acme', 'other', 'third'])
      await run(['config', 'set', 'base_url', `https://${name}.example`, '--profile', name])
    await run(['config', 'set', 'default_profile', 'other'])
    const { exitCode, stderr } = await run(['config', 'set', 'directory."~/projects/acme"=acme'])
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
  })

  it('uses the profile in the directory and everything in it, and the default profile elsewhere', async () => {
    const fromDirectory = ['acme', 'directory', 'the directory ~/projects/acme']
    expect(await profileWith()).to.deep.equal(fromDirectory)
    expect(await profileWith([], { cwd: join(acme, 'src') })).to.deep.equal(fromDirectory)
    expect((await profileWith([], { cwd: sandbox.home }))?.[0]).to.equal('other')
  })

  it('uses the profile of a flag, of the environment, or of no base URL at all instead', async () => {
    const env = { CHATCTL_PROFILE: 'other' }
    expect(await profileWith(['-p', 'third'], { env })).to.deep.equal(['third', 'flag', '--profile'])
    expect(await profileWith([], { env })).to.deep.equal(['other', 'environment', 'CHATCTL_PROFILE'])
    expect((await profileWith(['--base-url', 'https://new.example']))?.[0]).to.equal('')
  })

  it('can be set with two words, with single quotes around the key, and relative to the working directory', async () => {
    await run(['config', 'set', 'directory."~/projects/acme"', 'third'])
    expect((await profileWith())?.[0]).to.equal('third')
    await run(['config', 'set', 'directory..', 'other'])
    expect(readProfiles(sandbox)).to.have.property('directories').deep.equal({ '~/projects/acme': 'other' })
    expect((await run(['config', 'get', `directory.${acme}/`])).stdout.trim()).to.equal('other')
  })

  it('has the default profile again after config unset', async () => {
    await run(['config', 'unset', 'directory.~/projects/acme/'])
    expect((await profileWith())?.[0]).to.equal('other')
  })

  it('is named by auth status, auth list, and auth use', async () => {
    const env = { CHATCTL_API_KEY: 'key' }
    const status = JSON.parse((await run(['auth', 'status', '--no-verify', '--json'], { env })).stdout)
    expect(status).to.include({ profile: 'acme', profile_from: 'the directory ~/projects/acme' })
    const list = await run(['auth', 'list', '--json'])
    const rows: { profile: string; directories: string[] }[] = JSON.parse(list.stdout)
    expect(rows.find(({ profile }) => profile === 'acme')?.directories).to.deep.equal(['~/projects/acme'])
    const words = 'the profile is "acme", because of the directory ~/projects/acme.'
    expect((await run(['auth', 'list'])).stderr).to.contain(words)
    expect((await run(['auth', 'use', 'third'])).stderr).to.contain(words)
  })

  it('is never set by a file in the directory', async () => {
    const files = ['config.json', '.chatctl.json', 'chatctl/config.json', '.config/chatctl/config.json']
    for (const name of files) {
      mkdirSync(join(acme, name, '..'), { recursive: true })
      writeFileSync(join(acme, name), JSON.stringify({ directories: { '~/projects/acme': 'third' } }))
    }
    expect((await profileWith())?.[0]).to.equal('acme')
  })

  it('exits 2 for an unknown profile, for a file, for --profile, and without a path', async () => {
    writeFileSync(join(acme, 'file'), '')
    expectFailure(await run(['config', 'set', 'directory.~/x', 'acm']), 2, 'Unknown profile "acm"')
    expectFailure(await run(['config', 'set', 'directory.file', 'acme']), 2, 'is not a directory')
    expectFailure(await run(['config', 'set', 'directory.', 'acme']), 2, 'is not the path of a directory')
    const refused = await run(['config', 'set', 'directory.~', 'acme', '-p', 'acme'])
    expectFailure(refused, 2, 'belongs to no profile')
    expectFailure(await run(['config', 'set', 'directory.~/x']), 2, 'Missing value')
  })

  it('exits 2 and names the directory if its profile is missing from the file', async () => {
    const path = join(sandbox.home, '.config', 'chatctl', 'config.json')
    writeFileSync(path, JSON.stringify({ directories: { '~/projects': 'gone' } }))
    const refused = await run(['chat', 'models'])
    expectFailure(refused, 2, `${path}, the directory ~/projects: unknown profile "gone"`)
    expect((await run(['config', 'unset', 'directory.~/projects'])).exitCode).to.equal(0)
  })

  it('says if the directory does not exist yet', async () => {
    const { exitCode, stderr } = await run(['config', 'set', 'directory.~/later', 'acme'])
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '~/later does not exist yet.\n' })
  })

  it('decides the output format of errors in the command line', async () => {
    await run(['config', 'set', 'output', 'json', '-p', 'acme'])
    const { stderr } = await run(['chat', 'models', '--no-such-flag'])
    expect(JSON.parse(stderr)).to.have.nested.property('error.code', 'usage')
  })
})
