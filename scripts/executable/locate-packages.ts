import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isNative, type Target } from './targets.ts'

/**
 * Finds the Node.js binary of a target, and the native code of the keychain. The packages of this machine are in
 * node_modules. Those of other targets are installed into `node_modules/.cache/executables`.
 *
 * @param given the Node.js binary, instead of that of the npm package
 */
export function locatePackages(
  root: string,
  target: Target,
  given: string | undefined,
): { node: string; keyring: string } {
  const keyring = readVersion(root, '@napi-rs/keyring')
  const wanted = [`${target.keyring}@${keyring}`]
  if (isNative(target)) {
    return { node: given ?? process.execPath, keyring: findAddon(join(root, 'node_modules', target.keyring)) }
  }
  if (given === undefined) wanted.push(`${nodePackageOf(target).package}@${process.versions.node}`)
  const place = join(root, 'node_modules/.cache/executables', `${target.platform}-${target.arch}`)
  const installed = (name: string) => join(place, 'node_modules', name)
  const stamp = join(place, 'package.json')
  const content = JSON.stringify({ private: true, packages: wanted })
  if (!statSync(stamp, { throwIfNoEntry: false }) || readFileSync(stamp, 'utf8') !== content) {
    mkdirSync(place, { recursive: true })
    install(place, wanted)
    writeFileSync(stamp, content)
  }
  return {
    node: given ?? join(installed(nodePackageOf(target).package), nodePackageOf(target).path),
    keyring: findAddon(installed(target.keyring)),
  }
}

function nodePackageOf({ node, platform, arch }: Target): { package: string; path: string } {
  if (node) return node
  throw new Error(`npm has no package with Node.js for ${platform} ${arch}: use --node FILE`)
}

/** npm refuses packages of another system without `--force`. */
function install(place: string, packages: readonly string[]): void {
  const npm = process.env['npm_execpath']
  const [command, start] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []]
  const options = ['--prefix', place, '--no-save', '--force', '--ignore-scripts', '--no-audit', '--no-fund']
  execFileSync(command, [...start, 'install', ...options, ...packages], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

function findAddon(directory: string): string {
  const [file] = globSync('*.node', { cwd: directory })
  if (file === undefined) throw new Error(`${directory} has no native addon: npm ci`)
  return join(directory, file)
}

function readVersion(root: string, name: string): string {
  return JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version
}
