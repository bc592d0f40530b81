import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { expect } from 'chai'
import { listFiles, runNpm } from '../../release/installation.ts'
import { packageFile, root } from '../../scripts/package-file.ts'
import { executableFor } from '../../support/executable.ts'
import { perSuite } from '../../support/lifetime.ts'
import { createSandbox } from '../../support/sandbox.ts'

/** What a build writes. */
const built = ['dist', 'release', 'man', 'oclif.manifest.json', 'coverage']

/** A copy of the sources, at a longer path, is built here. The other build is the last one of this directory. */
describe('a second build, in another directory and with another umask', function () {
  this.timeout(300_000)
  const sandbox = perSuite(createSandbox)
  let copy: string
  before(async () => {
    copy = join(sandbox.home, 'another directory', 'with a longer path', 'than the first one', 'chatctl')
    const left = ['.git', ...built].map((name) => join(root, name))
    cpSync(root, copy, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !left.includes(path) && !path.startsWith(join(root, 'node_modules') + sep),
    })
    // Links, which need the same file system, take a second.
    const link = 'cp -al "$0" "$1" 2> /dev/null || cp -a "$0" "$1"'
    execFileSync('sh', ['-c', link, join(root, 'node_modules'), copy])
    // The other build may be of an earlier day.
    const [, day = ''] = /^\.TH .*?"(.+?)"/.exec(readFileSync(join(root, 'man', 'chatctl.1'), 'utf8')) ?? []
    const umask = process.umask(0o077)
    const build = runNpm(copy, ['run', 'build'], { SOURCE_DATE_EPOCH: `${Date.parse(day) / 1000}` })
    process.umask(umask)
    await build
  })

  const hashOf = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

  it('writes the same files, with the same code caches', () => {
    const hashes = (directory: string) =>
      Object.fromEntries(
        [...listFiles(directory).keys()].sort().map((path) => [path, hashOf(join(directory, path))]),
      )
    const written = hashes(join(copy, 'dist'))
    expect(Object.keys(written).filter((path) => path.startsWith('code-cache/'))).to.have.length.above(4)
    expect(written).to.deep.equal(hashes(join(root, 'dist')))
  })

  it('is packed into the same tarball', async () => {
    const tarball = `chatctl-${packageFile.version}.tgz`
    const pack = (directory: string, to: string) =>
      runNpm(directory, ['pack', '--ignore-scripts', '--pack-destination', to])
    await pack(copy, copy)
    await pack(root, sandbox.home)
    expect(hashOf(join(copy, tarball))).to.equal(hashOf(join(sandbox.home, tarball)))
  })

  it('becomes the same executable', async function () {
    if (process.platform !== 'linux' || process.arch !== 'x64') return this.skip()
    await runNpm(copy, ['run', 'executable', '--', 'linux-x64'])
    const executable = 'release/chatctl-linux-x64'
    expect(hashOf(join(copy, executable))).to.equal(hashOf(await executableFor('linux-x64')))
  })
})
