import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../support/expect-failure.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

describe('config with a key that belongs to no profile', () => {
  const sandbox = perTest(createSandbox)
  const run = (...args: string[]) => runChatctl(sandbox, args)
  const file = () => join(sandbox.home, '.config', 'chatctl', 'config.json')
  const stored = () => JSON.parse(readFileSync(file(), 'utf8'))

  it('sets, shows, and removes it, whatever the default profile is', async () => {
    await run('config', 'set', 'base_url', 'https://chat.example', '--profile', 'work')
    await run('config', 'set', 'default_profile', 'work')
    const set = await run('config', 'set', 'model_server=ollama', '--json')
    expect(JSON.parse(set.stdout)).to.deep.equal({ profile: null, key: 'model_server', value: 'ollama' })
    expect(stored()).to.deep.include({ model_server: 'ollama', default_profile: 'work' })
    expect(stored().profiles).to.deep.equal({ work: { base_url: 'https://chat.example' } })
    expect((await run('config', 'get', 'model_server')).stdout).to.equal('ollama\n')
    await run('config', 'unset', 'model_server')
    expect(stored()).not.to.have.property('model_server')
    expect((await run('config', 'get', 'model_server')).stdout).to.equal('\n')
  })

  it('is refused with --profile, which would suggest that other profiles do not have it', async () => {
    for (const args of [
      ['set', 'model_server', 'ollama'],
      ['unset', 'model_server'],
    ]) {
      const failed = await run('config', ...args, '--profile', 'local')
      expectFailure(failed, 2, 'model_server belongs to no profile', 'Omit --profile')
    }
    expect(existsSync(file())).to.equal(false)
  })

  it('stores the path of a key file as an absolute path', async () => {
    await run('config', 'set', 'model_server=ollama')
    await run('config', 'set', 'model_server_key_file', 'up.key')
    expect(stored().model_server_key_file).to.equal(join(sandbox.home, 'up.key'))
  })

  const changes: [title: string, keeps: boolean, ...args: string[]][] = [
    ['is kept with another path of the same origin', true, 'set', 'model_server=https://a.example/v2'],
    ['is removed with another origin', false, 'set', 'model_server=https://b.example/v1'],
    ['is removed with a name', false, 'set', 'model_server=ollama'],
    ['is removed with none', false, 'set', 'model_server=none'],
    ['is removed without the model server', false, 'unset', 'model_server'],
  ]
  for (const [title, keeps, ...args] of changes)
    it(`the key file ${title}`, async () => {
      await run('config', 'set', 'model_server=https://a.example/v1')
      await run('config', 'set', 'model_server_key_file', 'up.key')
      const before = stored()
      const planned = await run('config', ...args, '--dry-run')
      expect(stored()).to.deep.equal(before)
      const { stderr } = await run('config', ...args)
      expect('model_server_key_file' in stored()).to.equal(keeps)
      const words = 'model_server_key_file, the API key for https://a.example/v1\n'
      expect(planned.stderr).to.equal(keeps ? '' : `Would remove ${words}`)
      expect(stderr).to.equal(keeps ? '' : `Removed ${words}`)
    })

  it('names the new key for its old name', async () =>
    expectFailure(
      await run('config', 'set', 'upstream=ollama'),
      2,
      'Unknown configuration option "upstream"',
      'Did you mean model_server?',
    ))

  it('refuses a key file without a stored model server, which could then be any', async () => {
    const hint = 'Set it first with: chatctl config set model_server=URL'
    const refused = await run('config', 'set', 'model_server_key_file', 'up.key')
    expectFailure(refused, 2, 'but none is stored', hint)
    await run('config', 'set', 'model_server=none')
    const rejected = await run('config', 'set', 'model_server_key_file', 'up.key')
    expectFailure(rejected, 2, 'but none is stored', hint)
  })

  const wrong: [value: string, ...words: string[]][] = [
    ['olama', 'Did you mean ollama?', 'none'],
    ['127.0.0.1:11434', 'must be an http:// or https:// URL'],
    ['ftp://127.0.0.1/v1', 'must be an http:// or https:// URL'],
    ['', 'must not be empty'],
  ]
  for (const [value, ...words] of wrong)
    it(`refuses the model server "${value}" and stores nothing`, async () => {
      expectFailure(await run('config', 'set', 'model_server', value), 2, ...words)
      expect(existsSync(file())).to.equal(false)
    })
})
