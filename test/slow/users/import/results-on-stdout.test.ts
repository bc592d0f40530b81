import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { expectFailure } from '../../../support/expect-failure.ts'
import { binary } from '../../../support/run-chatctl.ts'
import { runProgram } from '../../../support/run-program.ts'
import { createSandbox } from '../../../support/sandbox.ts'
import { UsersServer } from '../../../support/users-server.ts'

describe('users import --results with a link to /dev/stdout', () => {
  it('writes the results to stdout, and is refused with --generate-passwords', async function () {
    if (process.platform === 'win32') this.skip()
    const sandbox = createSandbox()
    const server = await UsersServer.start()
    try {
      const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-api-key' }
      const path = join(sandbox.home, 'users.csv')
      writeFileSync(path, 'email,password\na@example.com,an-own-one\n')
      const results = join(sandbox.home, 'out.jsonl')
      symlinkSync('/dev/stdout', results)
      const words = ['users', 'import', path, '--yes', '--results', results]
      const generated = await runProgram(sandbox, [...words, '--generate-passwords'], { env })
      expectFailure(generated, 2, `${results}: not a regular file`)
      // The stdout of a program that a test starts is a socket, which cannot be opened by its path.
      const command = ['-c', '"$@" | cat', 'sh', process.execPath, binary, ...words]
      const { stdout } = await promisify(execFile)('sh', command, {
        env: { ...sandbox.env, ...env },
        timeout: 20_000,
      })
      expect(stdout).to.contain('"email":"a@example.com"')
    } finally {
      await server.close()
      sandbox.remove()
    }
  })
})
