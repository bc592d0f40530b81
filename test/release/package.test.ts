import { execFile, execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { parse } from 'yaml'
import { packageFile, root } from '../scripts/package-file.ts'
import { perSuite } from '../support/lifetime.ts'
import type { ProcessOptions, Run } from '../support/run-chatctl.ts'
import { runProgram } from '../support/run-program.ts'
import { runService } from '../support/run-service.ts'
import { createSandbox } from '../support/sandbox.ts'
import { describeSample, takeSample } from '../support/take-sample.ts'
import {
  installNodes,
  listFiles,
  makeEmptyDirectory,
  packProject,
  runNpm,
  type Tarball,
} from './installation.ts'

/** Installs the package as npm does, on all supported versions of Node. Needs the npm registry. */

const floor = packageFile.engines.node.replace('>=', '')
const newest = '26'

/** The maximum size of an installation (docs/decisions/0013-what-an-installation-brings.md). */
const bounds = { packages: 6, bytes: 16.5e6 }

describe('the package', () => {
  let directory: string
  let tarball: Tarball
  const { sample } = takeSample([floor, process.versions.node, newest], 1)
  const nodes: Record<string, string> = { [process.versions.node]: process.execPath }

  before(async () => {
    directory = makeEmptyDirectory()
    tarball = await packProject(directory)
    const others = sample.filter((version) => !(version in nodes))
    const [, paths] = await Promise.all([
      runNpm(directory, ['install', tarball.path]),
      others.length > 0 ? installNodes(directory, others) : [],
    ])
    for (const [index, version] of others.entries()) nodes[version] = paths[index] ?? ''
  })
  after(() => rmSync(directory, { recursive: true, force: true }))

  const installed = (...path: string[]): string => join(directory, 'node_modules', ...path)

  it('contains the files named in package.json, and no others', () => {
    const named = [
      /^(CHANGELOG\.md|CONTRIBUTING\.md|LICENSE|README\.md|SECURITY\.md|oclif\.manifest\.json|package\.json)$/,
      /^docs\/([\w-]+\/)*[\w-]+\.(md|svg|cfg|conf|json)$/,
      /^man\/chatctl[\w-]*\.[17]$/,
      /^bin\/(run\.js|package\.json)$/,
      /^dist\/([\w-]+\.cjs|client\.js|client\/[\w-]+\.js|client\.d\.ts|types\/[\w/-]+\.d\.ts|licenses\.txt|build\/jq\.wasm\.zst|help\/[\w.-]+\.txt|code-cache\/([\w.-]+\.zst|start-[\w.-]+))$/,
    ]
    expect(tarball.files.filter((file) => !named.some((name) => name.test(file)))).to.deep.equal([])
    expect(tarball.files).to.include.members(['bin/run.js', 'dist/start.cjs', 'LICENSE', 'dist/licenses.txt'])
    expect([...listFiles(installed('chatctl')).keys()].sort()).to.deep.equal(tarball.files)
  })

  it('contains no path of the machine that built it', () => {
    const telling = tarball.files.filter((file) =>
      readFileSync(installed('chatctl', file), 'latin1').includes(dirname(dirname(import.meta.dirname))),
    )
    expect(telling).to.deep.equal([])
  })

  it('installs at most 6 packages with 16.5 MB, and no install scripts', () => {
    const { packages } = JSON.parse(readFileSync(installed('.package-lock.json'), 'utf8'))
    expect(Object.keys(packages)).to.have.length.within(3, bounds.packages)
    for (const [name, entry] of Object.entries(packages)) {
      expect(entry, name).not.to.have.property('hasInstallScript')
    }
    const sizeOf = (path: string) => [...listFiles(path).values()].reduce((sum, size) => sum + size, 0)
    // A release has code caches for three lines of Node, which are all of about the same size. This has one.
    const others = 2 * sizeOf(installed('chatctl/dist/code-cache'))
    expect(sizeOf(installed()) + others).to.be.below(bounds.bytes)
  })

  for (const version of sample) {
    describe(`on Node ${version}`, () => {
      const sandbox = perSuite(createSandbox)
      let options: ProcessOptions
      before(() => {
        options = {
          env: { PATH: '/usr/bin:/bin' },
          program: [nodes[version] ?? '', installed('chatctl/bin/run.js')],
        }
      })

      const run = (...args: string[]): Promise<Run> => runProgram(sandbox, args, options)
      const expectDone = async (...args: string[]): Promise<string> => {
        const { exitCode, stdout, stderr } = await run(...args)
        expect(exitCode, stderr).to.equal(0)
        return stdout
      }

      it('runs this version', () => {
        const running = execFileSync(nodes[version] ?? '', ['--version'], { encoding: 'utf8' })
        expect(running.slice(1).trim().startsWith(version)).to.equal(true)
      })

      it('prints its version and its help', async () => {
        expect(await expectDone('--version')).to.equal(`chatctl ${packageFile.version}\n`)
        expect(await expectDone('--help')).to.match(/^ {2}chat /m)
      })

      it('replies from the embedded service', async () => {
        expect(await expectDone('chat', 'send', 'Hello')).to.match(/not an AI/)
      })

      it('changes a setting, and filters it with --jq', async () => {
        await expectDone('settings', 'set', 'theme.mode=dark', '--profile', 'local', '--json')
        expect(await expectDone('settings', 'get', '--jq', '.theme.mode')).to.equal('dark\n')
      })

      it('creates a user with a password, which it hashes with Argon2', async () => {
        const user = ['--email', 'ada@example.com', '--generate-password', '--profile', 'local']
        const created = JSON.parse(await expectDone('users', 'create', ...user, '--json'))
        expect(created.email).to.equal('ada@example.com')
      })

      it('can be imported as a library', () => {
        const script = `import('chatctl/client').then(({ Client }) => console.log(typeof Client))`
        const said = execFileSync(nodes[version] ?? '', ['--eval', script], {
          cwd: directory,
          encoding: 'utf8',
        })
        expect(said).to.equal('function\n')
      })

      it('loads the keychain, or reports that the system has none', async () => {
        const login = ['auth', 'login', '--profile', 'work', '--base-url', 'https://chat.example']
        const { exitCode, stderr } = await runProgram(sandbox, [...login, '--with-api-key'], {
          ...options,
          stdin: 'sk-1',
        })
        expect({ exitCode, stderr }).to.have.property('exitCode', 4)
        expect(stderr).to.match(/keychain/)
      })

      it('runs the service and stops it', async () => {
        const service = await runService(sandbox, [], options)
        const health = await fetch(`${service.url}/healthz`)
        await service.stop()
        expect({ status: health.status, exitCode: service.child.exitCode }).to.deep.equal({
          status: 200,
          exitCode: 0,
        })
      })

      it('adds no file to its directory', () => {
        expect([...listFiles(installed('chatctl')).keys()].sort()).to.deep.equal(tarball.files)
      })
    })
  }

  describeSample('in other ways', 1, () => {
    it('runs with npm exec in an empty directory', async () => {
      const elsewhere = makeEmptyDirectory()
      const words = ['exec', '--yes', '--cache', join(elsewhere, 'cache'), `--package=${tarball.path}`, '--']
      const said = await runNpm(elsewhere, [...words, 'chatctl', '--version'])
      expect(said).to.equal(`chatctl ${packageFile.version}\n`)
      rmSync(elsewhere, { recursive: true })
    })

    it('passes the steps of the workflow that tries the package', async () => {
      const action: { runs: { steps: { run?: string }[] } } = parse(
        readFileSync(join(root, '.github/actions/try-package/action.yml'), 'utf8'),
      )
      const script = action.runs.steps.flatMap(({ run }) => run ?? []).join('\n')
      const sandbox = createSandbox()
      const configuration = (await runNpm(directory, ['config', 'get', 'userconfig'])).trim()
      const notOurs = Object.fromEntries(
        Object.entries(process.env).filter(([name]) => !/^(XDG|CHATCTL)_/.test(name)),
      )
      const trial = promisify(execFile)('bash', ['-e', '-o', 'pipefail', '-c', script], {
        cwd: directory,
        // npm may need any variable, such as a proxy or certificates, but chatctl must not use those of the user.
        env: { ...notOurs, ...sandbox.env, npm_config_userconfig: configuration },
      })
      // As in the workflow, stdin is empty.
      trial.child.stdin?.end()
      const { stdout } = await trial
      expect(stdout).to.contain(`chatctl ${packageFile.version}\n`).and.contain('ada@example.com')
      sandbox.remove()
    })

    it('can be installed globally, and uninstalled without a trace', async () => {
      const prefix = makeEmptyDirectory()
      const before = [...listFiles(prefix).keys()]
      await runNpm(prefix, ['install', '--global', '--prefix', prefix, tarball.path])
      const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter)
      const said = execFileSync(join(prefix, 'bin/chatctl'), ['--version'], {
        encoding: 'utf8',
        env: { PATH },
      })
      expect(said).to.equal(`chatctl ${packageFile.version}\n`)
      expect([...listFiles(join(prefix, 'share/man')).keys()]).to.include.members([
        'man1/chatctl-users-import.1',
        'man7/chatctl-exit-codes.7',
      ])
      await runNpm(prefix, ['uninstall', '--global', '--prefix', prefix, 'chatctl'])
      expect([...listFiles(prefix).keys()]).to.deep.equal(before)
      rmSync(prefix, { recursive: true })
    })
  })
})
