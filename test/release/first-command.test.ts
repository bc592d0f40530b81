import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { expect } from 'chai'
import { stranger } from '../programs/disk/run-as.ts'
import { root } from '../scripts/package-file.ts'
import { installNodes, runNpm } from './installation.ts'

/** Node.js 20.0.0 came with this version of npm. */
const old = { node: '20.0.0', npm: '9.6.4' }

/**
 * The first commands of a newcomer, in the least convenient place: an old Node.js, npm that runs no scripts, private
 * files, and a path with a space and an umlaut, as a user who is not root. Needs the npm registry, setpriv, and root.
 */
describe(`in a fresh clone, with Node.js ${old.node} and ignore-scripts=true`, function () {
  this.timeout(600_000)
  let directory: string
  let run: (...words: string[]) => { status: number | null; stdout: string; stderr: string }

  before(async function () {
    if (platform() !== 'linux' || arch() !== 'x64' || process.getuid?.() !== 0) return this.skip()
    directory = mkdtempSync('/tmp/chatctl-clone-')
    chmodSync(directory, 0o755)
    const [node = ''] = await installNodes(directory, [old.node])
    const npm = join(directory, 'npm')
    mkdirSync(npm)
    await runNpm(npm, ['install', '--prefix', npm, `npm@${old.npm}`])
    const home = join(directory, 'home')
    const clone = join(home, 'wörk dir')
    execFileSync('git', ['clone', '--quiet', root, clone])
    // What this user has downloaded before is not downloaded again.
    const cache = (await runNpm(directory, ['config', 'get', 'cache'])).trim()
    if (existsSync(join(cache, '_cacache')))
      cpSync(join(cache, '_cacache'), join(home, '.npm/_cacache'), { recursive: true })
    execFileSync('chown', ['-R', `${stranger}`, home])
    // The packages of the lanes have the same installation as the others, which takes half of the time.
    const link = 'cp -al "$0" "$1" 2> /dev/null || cp -a "$0" "$1"'
    execFileSync('sh', ['-c', link, join(root, 'test/node_modules'), join(clone, 'test')])
    const path = [dirname(node), join(npm, 'node_modules/.bin'), process.env['PATH']].join(delimiter)
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'))
    const own = { PATH: path, HOME: home, npm_config_ignore_scripts: 'true' }
    const env = { ...Object.fromEntries(inherited), ...own }
    const start = [`--reuid=${stranger}`, '--clear-groups', 'sh', '-c', 'umask 077; exec "$@"', 'sh']
    run = (...words) => spawnSync('setpriv', [...start, ...words], { cwd: clone, encoding: 'utf8', env })
  })
  after(() => directory && rmSync(directory, { recursive: true, force: true }))

  it('npm start installs, builds, and sends a message', () => {
    expect(run('node', '--version').stdout).to.equal(`v${old.node}\n`)
    const { status, stdout, stderr } = run('npm', 'start', '--', 'chat', 'send', 'Hello')
    expect(status, stderr).to.equal(0)
    expect(stdout).to.match(/\nThis is chatctl's built-in test program.*\n$/)
  })

  it('npm run docs changes nothing', () => {
    const { status, stderr } = run('npm', 'run', 'docs')
    expect(status, stderr).to.equal(0)
    expect(run('git', 'status', '--porcelain')).to.deep.include({ status: 0, stdout: '' })
  })

  it('npm run test:file runs a test', () => {
    const { status, stdout, stderr } = run('npm', 'run', 'test:file', '--', 'test/view/format/table.test.ts')
    expect(status, stderr).to.equal(0)
    expect(stdout).to.match(/^ +\d+ passing/m)
  })
})
