import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files of the program that an executable has as assets, by their names in the package. */
const files = ['package.json', 'oclif.manifest.json', 'dist/*.cjs', 'dist/build/*', 'dist/help/*']

interface Content {
  /** The file with the native code of `@napi-rs/keyring`. */
  keyring: string
  /** The file with the licenses of the executable, which travel with every copy of it. */
  licenses: string
  /** The directory with the code caches for the target. */
  codeCache: string | undefined
}

/**
 * Writes the blob that Node.js runs as the program: the main script, and the assets that it and `boot/own-files.ts`
 * read. The blob contains no path of this machine.
 *
 * @param directory for temporary files
 * @returns its path
 */
export function writeBlob(
  root: string,
  { keyring, licenses, codeCache }: Content,
  directory: string,
): string {
  // A copy, because the blob contains this path.
  copyFileSync(join(root, 'bin/run.js'), join(directory, 'main.cjs'))
  const own = globSync(files, { cwd: root })
  const caches = codeCache === undefined ? [] : globSync(`*-${process.versions.v8}-*`, { cwd: codeCache })
  const assets: [name: string, path: string][] = [
    ...own.map((name): [string, string] => [name.replaceAll('\\', '/'), join(root, name)]),
    ...caches.map((name): [string, string] => [`dist/code-cache/${name}`, join(codeCache ?? '', name)]),
    ['dist/licenses.txt', licenses],
    [`native/@napi-rs/keyring-${hashOf(keyring)}.node`, keyring],
  ]
  const config = {
    main: 'main.cjs',
    output: 'blob',
    disableExperimentalSEAWarning: true,
    // NODE_OPTIONS is for programs that the user runs with Node.js.
    execArgvExtension: 'none',
    assets: Object.fromEntries(assets.sort(([a], [b]) => (a < b ? -1 : 1))),
  }
  writeFileSync(join(directory, 'config.json'), JSON.stringify(config))
  execFileSync(process.execPath, ['--experimental-sea-config', 'config.json'], {
    cwd: directory,
    // It reports success on stderr, which an error contains otherwise.
    stdio: 'pipe',
  })
  return join(directory, 'blob')
}

function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 16)
}
