import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perSuite } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'

/** A directory from someone else, such as a cloned repository, must not influence chatctl. */
describe('files in an untrusted working directory', () => {
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() =>
    startScriptedServer(json(200, { data: [{ id: 'm', object: 'model' }], object: 'list' })),
  )
  let cwd: string
  let mark: string
  before(() => {
    cwd = join(sandbox.home, 'foreign')
    mark = join(sandbox.home, 'mark')
    const evil = `require('node:fs').appendFileSync(${JSON.stringify(mark)}, __filename + '\\n')\n`
    const hooks = { init: './evil.js', prerun: './evil.js' }
    const files: Record<string, string> = {
      'package.json': JSON.stringify({
        main: 'evil.js',
        oclif: { bin: 'chatctl', hooks, plugins: ['evil'] },
      }),
      'evil.js': evil,
      '.oclifrc': JSON.stringify({ hooks }),
      '.oclifrc.js': evil,
      '.env': `CHATCTL_BASE_URL=http://127.0.0.1:1\nNODE_OPTIONS=--require ${join(cwd, 'evil.js')}\n`,
      '.npmrc': 'registry=http://127.0.0.1:1\n',
      'config.json': JSON.stringify({ default_profile: 'evil' }),
      'chatctl/config.json': JSON.stringify({ default_profile: 'evil' }),
      '.config/chatctl/config.json': JSON.stringify({ default_profile: 'evil' }),
      'settings.yaml': 'theme: { mode: dark }\n',
      'tsconfig.json': '{}',
    }
    for (const name of 'evil undici jq-wasm @oclif/core @napi-rs/keyring @oclif/plugin-help'.split(' ')) {
      files[`node_modules/${name}/package.json`] = JSON.stringify({
        name,
        version: '9.9.9',
        main: 'index.js',
      })
      files[`node_modules/${name}/index.js`] = evil
    }
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(cwd, name, '..'), { recursive: true })
      writeFileSync(join(cwd, name), text)
    }
  })

  for (const args of [
    ['chat', 'models', '--jq', '.data[].id'],
    ['chat', 'models', '-o', 'yaml'],
    ['config', 'list'],
    ['auth', 'status', '--no-verify'],
    ['--help'],
    ['no-such-command'],
  ])
    it(`are neither executed nor read by: ${args.join(' ')}`, async () => {
      const before = readdirSync(cwd).sort()
      const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'k' }
      expect((await runChatctl(sandbox, args, { cwd, env })).stderr).not.to.match(/evil|bug/)
      expect(existsSync(mark)).to.equal(false)
      expect(readdirSync(cwd).sort()).to.deep.equal(before)
    })
})
