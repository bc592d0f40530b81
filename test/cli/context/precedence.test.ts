import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perSuite } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('the precedence of options', () => {
  const home = perSuite(createSandbox)
  before(() => {
    mkdirSync(join(home.home, '.config', 'chatctl'), { recursive: true })
    const work = {
      base_url: 'https://profile.example',
      auth_url: 'https://auth-profile.example',
      client_id: 'profile-client',
      model: 'profile-model',
      output: 'json',
      timeout: '11s',
      retries: '5',
      max_wait: '12s',
    }
    writeFileSync(
      join(home.home, '.config', 'chatctl', 'config.json'),
      JSON.stringify({ default_profile: 'work', profiles: { work, other: {} } }),
    )
  })

  const rows = async (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const { stdout, stderr } = await runChatctl(home, ['config', 'list', '-o', 'tsv', ...args], { env })
    expect(stderr).to.equal('')
    return Object.fromEntries(
      stdout
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => line.split('\t'))
        .map(([key, ...rest]) => [key, rest]),
    )
  }

  it('uses the default if nothing else is set', async () =>
    expect(await rows(['-p', 'other'])).to.deep.include({
      profile: ['other', 'flag', '--profile'],
      base_url: ['', 'default', ''],
      timeout: ['60s', 'default', ''],
      retries: ['2', 'default', ''],
      max_wait: ['60s', 'default', ''],
      notify: ['on', 'default', ''],
      model: ['', 'default', ''],
    }))

  it('prefers the profile to the default', async () => {
    const from = 'profile work'
    expect(await rows([])).to.deep.include({
      base_url: ['https://profile.example', 'profile', from],
      auth_url: ['https://auth-profile.example', 'profile', from],
      client_id: ['profile-client', 'profile', from],
      model: ['profile-model', 'profile', from],
      timeout: ['11s', 'profile', from],
      retries: ['5', 'profile', from],
      max_wait: ['12s', 'profile', from],
    })
  })

  const variables: [string, string, string][] = [
    ['base_url', 'CHATCTL_BASE_URL', 'https://variable.example'],
    ['auth_url', 'CHATCTL_AUTH_URL', 'https://auth-variable.example'],
    ['client_id', 'CHATCTL_CLIENT_ID', 'variable-client'],
    ['model', 'CHATCTL_MODEL', 'variable-model'],
    ['timeout', 'CHATCTL_TIMEOUT', '21s'],
    ['retries', 'CHATCTL_RETRIES', '6'],
    ['max_wait', 'CHATCTL_MAX_WAIT', '22s'],
  ]

  it('prefers the environment to the profile', async () => {
    const env = Object.fromEntries(variables.map(([, name, value]) => [name, value]))
    const list = await rows(['-p', 'work'], env)
    for (const [key, name, value] of variables) expect(list[key]).to.deep.equal([value, 'environment', name])
  })

  it('prefers a flag to the environment', async () => {
    const flags = { base_url: 'https://flag.example', timeout: '31s', retries: '7', max_wait: '32s' }
    const env = Object.fromEntries(variables.map(([, name, value]) => [name, value]))
    const args = Object.entries(flags).flatMap(([key, value]) => [`--${key.replaceAll('_', '-')}`, value])
    const list = await rows(args, env)
    for (const [key, value] of Object.entries(flags))
      expect(list[key]).to.deep.equal([value, 'flag', `--${key.replaceAll('_', '-')}`])
  })

  it('ignores the default profile if a flag gives a base URL', async () =>
    expect(await rows(['--base-url', 'https://flag.example'])).to.deep.include({
      timeout: ['60s', 'default', ''],
      profile: ['', 'default', ''],
    }))

  it('applies to the output format too', async () => {
    const show = async (args: string[], env: NodeJS.ProcessEnv = {}) =>
      (await runChatctl(home, ['config', 'list', ...args], { env })).stdout
    expect(await show([])).to.match(/^\[/)
    expect(await show([], { CHATCTL_OUTPUT: 'csv' })).to.match(/^key,value,source,from\n/)
    expect(await show(['-o', 'yaml'], { CHATCTL_OUTPUT: 'csv' })).to.match(/^- key: /)
    expect(await show(['--json'], { CHATCTL_OUTPUT: 'csv' })).to.match(/^\[/)
    expect(await show([], { CHATCTL_OUTPUT: 'markdown' })).to.match(/^profile\twork\t/)
    expect(await show([], { CHATCTL_OUTPUT: 'md' })).to.match(/^profile\twork\t/)
    expect(await show(['-o', 'csv'], { CHATCTL_JSON: '1' })).to.match(/^key,/)
  })

  it('turns a flag without a value on and off', async () => {
    const isJson = async (value: string): Promise<boolean> => {
      const env = { CHATCTL_JSON: value }
      return (await runChatctl(home, ['config', 'list', '-p', 'other'], { env })).stdout.startsWith('[')
    }
    for (const word of ['1', 'true', 'ON', 'yes', 'y']) expect(await isJson(word), word).to.equal(true)
    for (const word of ['', '0', 'false', 'Off', 'no', 'n']) expect(await isJson(word), word).to.equal(false)
  })

  for (const name of ['CHATCTL_JSON', 'CHATCTL_QUIET', 'CHATCTL_DRY_RUN'])
    it(`refuses an unknown word in ${name}`, async () => {
      const args = ['config', 'set', 'model', 'm', '-p', 'other']
      expect(await runChatctl(home, args, { env: { [name]: 'ja' } })).to.deep.equal({
        exitCode: 2,
        stdout: '',
        stderr: `Error: ${name}: "ja" is not 1, 0, true, false, on, off, yes, or no\n`,
      })
      expect((await rows(['-p', 'other']))['model']?.[1]).to.equal('default')
    })
})
