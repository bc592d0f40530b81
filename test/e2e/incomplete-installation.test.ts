import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { perTest } from '../support/lifetime.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

describe('an incomplete installation', () => {
  const sandbox = perTest(createSandbox)

  for (const [missing, packages] of [
    ['package with the native code of the keychain', ['node_modules/@napi-rs/keyring']],
    ['package @napi-rs/keyring', []],
  ] as const)
    it(`without the ${missing} causes keychain_not_loaded`, async () => {
      const program = join(sandbox.home, 'program')
      for (const path of ['bin', 'dist', 'package.json', ...packages])
        cpSync(join(root, path), join(program, path), { recursive: true })
      const configuration = join(sandbox.home, '.config/chatctl')
      mkdirSync(configuration, { recursive: true })
      const profiles = { work: { base_url: 'http://127.0.0.1:9' } }
      writeFileSync(join(configuration, 'config.json'), JSON.stringify({ profiles }))
      const { exitCode, stderr } = await runProgram(sandbox, ['chat', 'models', '-p', 'work', '--json'], {
        program: [process.execPath, join(program, 'bin/run.js')],
      })
      const { code, message, hint } = JSON.parse(stderr).error
      expect({ exitCode, code }).to.deep.equal({ exitCode: 4, code: 'keychain_not_loaded' })
      expect(message).to.contain('@napi-rs/keyring')
      expect(hint).to.contain('CHATCTL_API_KEY').and.contain('--insecure-storage')
    })
})
