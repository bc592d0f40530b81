import { expect } from 'chai'
import { expectFailure } from '../support/expect-failure.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

describe('a model alias', () => {
  const world = perTest(createSandbox)
  const run = (words: string, options: Parameters<typeof runChatctl>[2] = {}) =>
    runChatctl(world, words.split(' '), options)
  /** The model of the request that the words would send. */
  const modelOf = async (words: string, env: NodeJS.ProcessEnv = {}) => {
    const { stdout, stderr } = await run(`${words} --dry-run --json`, { env })
    expect(stderr).to.equal('')
    return JSON.parse(stdout).body.model
  }

  it('is set, listed, and removed like another key of the profile', async () => {
    const { stdout } = await run('config set alias.fast=llama3.2:3b')
    expect(stdout).to.equal('local\talias.fast\tllama3.2:3b\n')
    expect((await run('config get alias.fast')).stdout).to.equal('llama3.2:3b\n')
    expect((await run('config list')).stdout).to.contain('alias.fast\tllama3.2:3b\tprofile\tprofile local\n')
    expect((await run('config unset alias.fast')).stdout).to.equal('local\talias.fast\t\n')
    expect((await run('config get alias.fast')).stdout).to.equal('\n')
  })

  it('selects its model in every place that names a model', async () => {
    await run('config set alias.fast small-1')
    expect(await modelOf('chat send hi -m fast')).to.equal('small-1')
    expect(await modelOf('chat complete hi --model fast')).to.equal('small-1')
    expect(await modelOf('chat send hi', { CHATCTL_MODEL: 'fast' })).to.equal('small-1')
    await run('config set model fast')
    expect(await modelOf('chat send hi')).to.equal('small-1')
    const shown = (await run('config list')).stdout
    expect(shown).to.contain('model\tsmall-1\tprofile\tprofile local, alias fast\n')
    await run('chat prompts set p', { stdin: '---\nmodel: fast\n---\nHi' })
    expect(await modelOf('chat send --prompt p', { CHATCTL_MODEL: 'large' })).to.equal('small-1')
    expect(await modelOf('chat send --prompt p -m large')).to.equal('large')
  })

  it('takes precedence over a model with its name, and applies once', async () => {
    await run('config set alias.a b')
    await run('config set alias.b c')
    expect(await modelOf('chat send hi -m a')).to.equal('b')
    expect(await modelOf('chat send hi -m b')).to.equal('c')
    expect(await modelOf('chat send hi -m constructor')).to.equal('constructor')
  })

  it('belongs to its profile', async () => {
    await run('config set alias.fast small-1 --profile local')
    await run('config set base_url https://chat.example --profile work')
    await run('config set alias.fast large-1 --profile work')
    const env = { CHATCTL_API_KEY: 'x' }
    expect(await modelOf('chat send hi -m fast')).to.equal('small-1')
    expect(await modelOf('chat send hi -m fast --profile work', env)).to.equal('large-1')
    expect(await modelOf('chat send hi -m fast --base-url https://chat.example', env)).to.equal('fast')
  })

  it('is refused for an invalid name, another alias, or an empty model', async () => {
    await run('config set alias.fast small-1')
    expectFailure(await run('config set alias.quick fast'), 2, '"fast" is an alias, not a model', 'small-1')
    for (const name of ['', '-x', '__proto__', 'a/b', 'x'.repeat(65)])
      expectFailure(await run(`config set alias.${name} x`), 2, `"${name}" is not a valid alias`)
    expectFailure(await run('config set alias.x='), 2, 'must not be empty')
    expect((await run('config list --jq length')).exitCode).to.equal(0)
  })
})
