import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * `npm run lock` writes package-lock.json and test/package-lock.json after a change to package.json or
 * test/package.json, with the packages of other platforms. If a registry mirror lacks them,
 * `npm install` silently omits them, and `npm ci` then fails on every platform. Their dependents pin
 * exact versions, and their names contain the platform. Their checksums come from the registry.
 */

interface Entry {
  version?: string
  integrity?: string
  dev?: boolean
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
  optionalDependencies?: Record<string, string>
}

const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'win32']
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64']
const libraries: Record<string, string> = {
  gnu: 'glibc',
  musl: 'musl',
  gnueabihf: 'glibc',
  musleabihf: 'musl',
}

const root = resolve(import.meta.dirname, '..')
// Nested, so that tests find no other versions in test/node_modules of what is in the root.
const strategies = { [root]: 'hoisted', [join(root, 'test')]: 'nested' }
for (const [directory, strategy] of Object.entries(strategies)) {
  const options = ['--package-lock-only', '--ignore-scripts', `--install-strategy=${strategy}`]
  execFileSync('npm', ['install', '--omit-lockfile-registry-resolved', ...options], {
    cwd: directory,
    stdio: 'inherit',
  })
  completeLock(join(directory, 'package-lock.json'))
}

function completeLock(path: string): void {
  const lock: { packages: Record<string, Entry> } = JSON.parse(readFileSync(path, 'utf8'))
  for (const entry of Object.values(lock.packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const place = `node_modules/${name}`
      if (!lock.packages[place] && /^\d/.test(version)) {
        lock.packages[place] = describe(name, version, entry.dev === true)
      }
    }
  }
  for (const [place, entry] of Object.entries(lock.packages)) {
    if (place !== '' && entry.integrity === undefined) entry.integrity = integrityOf(place, entry)
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
}

function describe(name: string, version: string, dev: boolean): Entry {
  const words = name.split(/[/-]/)
  const find = (known: readonly string[]): string[] => known.filter((word) => words.includes(word))
  const libc = find(Object.keys(libraries)).flatMap((word) => libraries[word] ?? [])
  const os = find(systems)
  return {
    version,
    cpu: find(processors),
    ...(dev ? { dev } : {}),
    ...(os.includes('linux') && libc.length > 0 ? { libc } : {}),
    optional: true,
    os,
  }
}

/** The checksum that `npm ci` compares with the package. */
function integrityOf(place: string, { version }: Entry): string {
  const name = place.replace(/^.*node_modules\//, '')
  const integrity = execFileSync('npm', ['view', `${name}@${version}`, 'dist.integrity'], {
    encoding: 'utf8',
  }).trim()
  if (integrity === '') throw new Error(`The registry has no checksum of ${name} ${version}`)
  return integrity
}
