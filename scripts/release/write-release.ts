import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { executableName, targets } from '../executable/targets.ts'
import { describeRelease, hashFile, isWindows, parseProject } from './describe-release.ts'
import { writeHomebrewFormula } from './homebrew-formula.ts'
import { writeInstallScript } from './install-script.ts'
import { packArchive, packSourceMaps } from './pack-archive.ts'
import { writeScoopManifest } from './scoop-manifest.ts'
import { readSigners } from './signature.ts'
import { sourceDate } from './source-date.ts'
import { writeWingetManifests } from './winget-manifests.ts'

/**
 * `npm run release -- --url https://github.com/OWNER/NAME [TARGET…]` packs the executables in `release/`
 * (default: all targets), and writes the installers, the manifests, and the checksums of all files.
 */

const root = resolve(import.meta.dirname, '../..')

interface Options {
  /** Contains the executables, and receives the other files. */
  directory: string
  /** Address of the repository. */
  url: string
  /** Modification time of the packed files, in seconds since 1970. */
  time: number
  /** The targets (default: all). */
  included?: readonly string[]
  /** Lines with the public keys that may sign the release (default: those of the repository). */
  signers?: string
}

/** @returns the names of the files to publish */
export function writeRelease({
  directory,
  url,
  time,
  included = Object.keys(targets),
  signers = readSigners(),
}: Options): string[] {
  const project = parseProject(url)
  const packageFile = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { version } = packageFile
  const executables = included.map((target) => ({
    target,
    path: join(directory, executableName(target)),
  }))
  const missing = executables.filter(({ path }) => !existsSync(path)).map(({ target }) => target)
  if (missing.length > 0)
    throw new Error(`Executables are missing. Build them with: npm run executable -- ${missing.join(' ')}`)
  for (const { target, path } of executables) packArchive(target, path, directory, version, time)
  const sourceMaps = packSourceMaps(directory, version, time)

  const date = new Date(time * 1000).toISOString().slice(0, 10)
  const release = describeRelease(packageFile, directory, project, date, included)
  const written = new Map([['install.sh', writeInstallScript(release, signers)]])
  if (included.some((target) => !isWindows(target))) written.set('chatctl.rb', writeHomebrewFormula(release))
  if (included.includes('win-x64')) {
    written.set('chatctl.json', writeScoopManifest(release))
    for (const [name, text] of writeWingetManifests(release)) written.set(name, text)
  }
  for (const [name, text] of written) writeFileSync(join(directory, name), text)

  const others = globSync([`chatctl-${version}.tgz`, `chatctl_${version}_*.deb`, 'sbom.cdx.json'], {
    cwd: directory,
  })
  const archives = Object.values(release.archives).map(({ file }) => file)
  const files = [...archives, sourceMaps, ...written.keys(), ...others].sort()
  const sums = files.map((file) => `${hashFile(join(directory, file))}  ${file}\n`)
  writeFileSync(join(directory, 'SHASUMS256.txt'), sums.join(''))
  return [...files, 'SHASUMS256.txt']
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({ options: { url: { type: 'string' } }, allowPositionals: true })
  try {
    const unknown = positionals.find((name) => !(name in targets))
    if (unknown !== undefined)
      throw new Error(`Unknown target ${unknown}; the targets are ${Object.keys(targets).join(', ')}`)
    const files = writeRelease({
      directory: join(root, 'release'),
      url: values.url ?? '',
      time: sourceDate(),
      ...(positionals.length > 0 && { included: positionals }),
    })
    for (const file of files) process.stdout.write(`release/${file}\n`)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
}
