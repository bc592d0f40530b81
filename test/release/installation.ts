import { execFile } from 'node:child_process'
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { arch, platform, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../scripts/package-file.ts'

export interface Tarball {
  path: string
  /** Paths in the tarball, sorted. */
  files: string[]
}

/** Runs npm in a directory, and returns its stdout. */
export async function runNpm(
  directory: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const npm = process.env['npm_execpath']
  const [command, start] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []]
  const { stdout } = await promisify(execFile)(command, [...start, ...args], {
    cwd: directory,
    env: { ...process.env, ...env },
  })
  return stdout
}

/** A directory with an empty package.json, so that npm finds no other one. */
export function makeEmptyDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'chatctl-package-'))
  writeFileSync(join(directory, 'package.json'), '{"private":true}')
  return directory
}

/** Packs the last build, as `npm publish` would. */
export async function packProject(directory: string): Promise<Tarball> {
  const stdout = await runNpm(root, ['pack', '--ignore-scripts', '--json', '--pack-destination', directory])
  const [packed]: { filename: string; files: { path: string }[] }[] = Object.values(JSON.parse(stdout))
  if (!packed) throw new Error(`npm pack said ${stdout}`)
  return { path: join(directory, packed.filename), files: packed.files.map(({ path }) => path).sort() }
}

/** Installs Node in these versions, from the packages that make up the package `node`. */
export async function installNodes(directory: string, versions: readonly string[]): Promise<string[]> {
  const system = platform() === 'win32' ? 'win' : platform()
  const wanted = versions.map((version) => `node-${version}@npm:node-${system}-${arch()}@${version}`)
  const place = join(directory, 'nodes')
  mkdirSync(place)
  writeFileSync(join(place, 'package.json'), '{"private":true}')
  await runNpm(place, ['install', '--ignore-scripts', ...wanted])
  return versions.map((version) => join(place, 'node_modules', `node-${version}`, 'bin/node'))
}

/** Size in bytes of every file and link in a directory, by relative path. */
export function listFiles(directory: string): Map<string, number> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  return new Map(
    entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(directory, path).replaceAll('\\', '/'), lstatSync(path).size]),
  )
}
