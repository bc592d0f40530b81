import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { normalizeDirectory, profileHere } from '../../src/config/profile-directories.ts'
import { Failure } from '../../src/contract/failure.ts'
import { type ServiceCall, serviceCalls } from '../support/command-lines.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { json, startScriptedServer } from '../support/scripted-server.ts'

describe('the profile of a directory', () => {
  const home = perSuite(() => {
    const path = mkdtempSync(join(tmpdir(), 'chatctl-directories-'))
    mkdirSync(join(path, 'jobs', 'acme', 'src'), { recursive: true })
    mkdirSync(join(path, 'jobs', 'acme-old'), { recursive: true })
    symlinkSync(join(path, 'jobs', 'acme'), join(path, 'link'))
    return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
  })

  const profileIn = (directory: string, directories: Record<string, string>, standard?: string) => {
    const configuration = { directories, ...(standard !== undefined && { default_profile: standard }) }
    return profileHere(configuration, join(home.path, directory), { HOME: home.path })?.value
  }

  it('applies to the directory and everything in it', () => {
    const directories = { '~/jobs/acme': 'acme' }
    expect(profileIn('jobs/acme', directories)).to.equal('acme')
    expect(profileIn('jobs/acme/src', directories)).to.equal('acme')
    expect(profileIn('jobs', directories)).to.equal(undefined)
    expect(profileIn('jobs/acme-old', directories)).to.equal(undefined)
  })

  it('is that of the nearest directory, in any order', () => {
    const directories = { '~': 'home', '~/jobs/acme': 'acme', '~/jobs': 'jobs' }
    expect(profileIn('jobs/acme/src', directories)).to.equal('acme')
    expect(profileIn('jobs/acme-old', directories)).to.equal('jobs')
    expect(profileIn('', directories)).to.equal('home')
  })

  it('takes precedence over the default profile', () => {
    expect(profileIn('jobs', { '~/jobs': 'acme' }, 'other')).to.equal('acme')
    expect(profileIn('', { '~/jobs': 'acme' }, 'other')).to.equal('other')
  })

  it('is the same through a symbolic link, and with a slash at the end', () => {
    expect(profileIn('link/src', { '~/jobs/acme/': 'acme' })).to.equal('acme')
    expect(profileIn('jobs/acme', { [`${home.path}/link`]: 'acme' })).to.equal('acme')
  })

  it('is not found by a relative path, by a file, or by a directory that does not exist', () => {
    const directories = { jobs: 'a', './jobs': 'b', '~/missing': 'c', [import.meta.filename]: 'd' }
    expect(profileIn('jobs', directories)).to.equal(undefined)
  })
})

describe('the directory of a configuration key', () => {
  const normalize = (directory: string) =>
    normalizeDirectory(directory, '/home/ada', (name) => resolve('/home/ada/now', name))

  for (const [typed, stored] of [
    ['~/jobs/acme', '~/jobs/acme'],
    ['~/jobs/acme/', '~/jobs/acme'],
    ['~/jobs/../acme', '~/acme'],
    ['~', '~'],
    ['~/', '~'],
    ['.', '~/now'],
    ['acme', '~/now/acme'],
    ['~/..x', '~/..x'],
  ] as const)
    it(`is stored as ${stored} if it was typed as ${typed}`, () => expect(normalize(typed)).to.equal(stored))

  for (const typed of ['', ' ', '~ada/jobs', 'a\0b'])
    it(`cannot be ${JSON.stringify(typed)}`, () => expect(() => normalize(typed)).to.throw(Failure))
})

/** Without `doctor`, which reports the configuration, and `history export`, which stores pages on disk. */
const calls = serviceCalls.filter(({ name }) => name !== 'doctor' && name !== 'history:export')

describe('a run with address and key in the environment', () => {
  const server = perSuite(() =>
    startScriptedServer({
      choose: ({ method, path }) => {
        const asked = `${method} ${path.split('?')[0]}`
        return json(200, serviceCalls.find(({ endpoint }) => endpoint === asked)?.answer ?? {})
      },
    }),
  )
  const sandbox = perTest(() => createSandbox({ ownCache: true }))
  let env: NodeJS.ProcessEnv
  beforeEach(() => {
    env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'test-key' }
  })

  const breakConfiguration = () => {
    mkdirSync(join(sandbox.home, '.config', 'chatctl'), { recursive: true })
    writeFileSync(join(sandbox.home, '.config', 'chatctl', 'config.json'), '{ "profiles": ')
  }

  async function expectFine({ args, stdin = '' }: ServiceCall, more: NodeJS.ProcessEnv = {}): Promise<void> {
    const { exitCode, stderr } = await runChatctl(sandbox, args, { env: { ...env, ...more }, stdin })
    expect(exitCode, `${args.join(' ')}: ${stderr}`).to.equal(0)
    expect(stderr, args.join(' ')).not.to.match(/^Error/m)
  }

  it('does not read an invalid configuration file, for any command that uses the service', async () => {
    breakConfiguration()
    for (const call of calls) await expectFine(call)
  })

  it('succeeds in a HOME in which nothing can be created', async function () {
    if (process.platform !== 'linux') return this.skip()
    // In /proc, the kernel reports the parent of every path as missing.
    for (const HOME of ['/proc/x', join(process.execPath, 'home'), 'relative']) {
      for (const call of calls.filter(({ name }) =>
        /^(chat:send|settings:(get|api:set)|users:get)$/.test(name),
      ))
        await expectFine(call, { HOME })
    }
  })
})
