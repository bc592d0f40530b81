import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'chai'
import { archiveName } from '../../scripts/release/describe-release.ts'
import { executableFor } from '../support/executable.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'
import { runInstallScript } from './run-install-script.ts'
import { ownTarget, serveRelease } from './served-release.ts'

describe('the executable of a release', () => {
  const release = perSuite(async () => serveRelease(await executableFor(ownTarget)))
  const sandbox = perTest(createSandbox)

  it('runs without Node.js after install.sh has installed it', async () => {
    const installed = await runInstallScript(release, sandbox)
    expect(installed.stderr).to.equal('')
    const [program, env] = [join(sandbox.home, '.local/bin/chatctl'), { PATH: '/nowhere' }]
    const { stdout, exitCode } = await runProgram(sandbox, ['send', 'Hello'], {
      program: [program, 'chat'],
      env,
    })
    expect(stdout).to.contain('test program')
    expect(exitCode).to.equal(0)
  })

  it('has the licenses of Node.js in its archive', () => {
    const archive = join(release.directory, archiveName(release.version, ownTarget))
    const name = `chatctl-${release.version}-${ownTarget}/licenses.txt`
    const licenses = execFileSync('tar', ['-x', '-O', '-f', archive, name], { encoding: 'utf8' })
    expect(licenses).to.contain('=== node ').and.contain('=== fastify ')
  })
})
