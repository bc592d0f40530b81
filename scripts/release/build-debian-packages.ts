import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildDebianPackage, debianArchitectures } from './debian-package.ts'
import { sourceDate } from './source-date.ts'

/**
 * `npm run deb -- linux-x64 linux-arm64` writes `release/chatctl_VERSION_ARCHITECTURE.deb` from the executables
 * in `release/`. The maintainer is that of DEBFULLNAME and DEBEMAIL, as for all of Debian's tools.
 */

const root = resolve(import.meta.dirname, '../..')
const release = join(root, 'release')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

function readMaintainer({ DEBFULLNAME: name, DEBEMAIL: address }: NodeJS.ProcessEnv): string {
  if (!name || !address) throw new Error('Set DEBFULLNAME and DEBEMAIL: the maintainer of the package')
  return `${name} <${address}>`
}

function readHomepage({ GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository }: NodeJS.ProcessEnv) {
  return server && repository ? `${server}/${repository}` : undefined
}

try {
  const targets = process.argv.slice(2)
  if (targets.length === 0) throw new Error(`Name a target: ${Object.keys(debianArchitectures).join(', ')}`)
  for (const target of targets) {
    const architecture = debianArchitectures[target]
    if (architecture === undefined) throw new Error(`Debian has no target ${target}`)
    const executable = join(release, `chatctl-${target}`)
    if (!existsSync(executable))
      throw new Error(`${executable} does not exist. Build it with: npm run executable -- ${target}`)
    const maintainer = readMaintainer(process.env)
    const described = { architecture, executable, version, maintainer, homepage: readHomepage(process.env) }
    process.stdout.write(`${buildDebianPackage({ ...described, time: sourceDate() }, release)}\n`)
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
