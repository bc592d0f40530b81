import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { BundledPackage } from './bundled-packages.ts'
import { dependencyReasons } from './dependency-reasons.ts'

/** Writes docs/dependencies.md. Requires a build. */

const root = resolve(import.meta.dirname, '..')

interface Installed {
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

/** The page has three tables: installed packages, bundled packages, and packages for development. */
export function composeDependencyPage(): string {
  const { dependencies, devDependencies }: Installed = readJson('package.json')
  const bundled: BundledPackage[] = readJson('dist/.packages.json')
  const development = Object.keys(devDependencies)
  const inside = development.filter((name) => findBundled(name, bundled))
  return `# Dependencies

\`npm run docs\` generates this page; the purposes are from \`scripts/dependency-reasons.ts\`. Sizes are in kB. [Decision 13](decisions/0013-what-an-installation-brings.md) explains why most packages are bundled into \`dist\`. \`dist/licenses.txt\` has the licenses of all bundled packages.

## Installed

Each size includes the package with the binary for one platform.

${table(
  ['package', 'for', 'unpacked'],
  Object.keys(dependencies).map((name) => [name, reasonOf(name), unpackedSize(name)]),
)}

## Bundled

The column "unpacked" is the size of the whole package. The column "bundled" is the size of its used code in all bundles, without its own dependencies.

${table(
  ['package', 'for', 'unpacked', 'bundled', 'in'],
  inside.map((name) => [name, reasonOf(name), unpackedSize(name), ...describeBundled(name, bundled)]),
)}

${describeTransitive(bundled, inside)}

## Development

${table(
  ['package', 'for', 'unpacked'],
  development
    .filter((name) => !inside.includes(name))
    .map((name) => [name, reasonOf(name), unpackedSize(name)]),
)}
`
}

function reasonOf(name: string): string {
  const reason = dependencyReasons[name]
  if (reason === undefined) throw new Error(`scripts/dependency-reasons.ts has no reason for ${name}`)
  return reason
}

/** Ignores other versions, which are in the node_modules directories of their dependents. */
function findBundled(name: string, bundled: readonly BundledPackage[]): BundledPackage | undefined {
  return bundled.find(({ directory }) => directory.split('node_modules/').slice(1).join() === name)
}

function describeBundled(name: string, bundled: readonly BundledPackage[]): [bytes: string, bundles: string] {
  const bytes = findBundled(name, bundled)?.bytes ?? {}
  return [inKilobytes(sum(Object.values(bytes))), Object.keys(bytes).sort().join(', ')]
}

function describeTransitive(bundled: readonly BundledPackage[], direct: readonly string[]): string {
  const own = new Set(direct.map((name) => findBundled(name, bundled)))
  const transitive = bundled.filter((package_) => !own.has(package_))
  const bytes = sum(transitive.flatMap((package_) => Object.values(package_.bytes)))
  return `These depend on ${transitive.length} more packages, of which ${inKilobytes(bytes)} kB are bundled.`
}

/** Includes its packages for this platform, and excludes its nested node_modules. */
function unpackedSize(name: string): string {
  const { optionalDependencies = {} } = readJson<{ optionalDependencies?: object }>(
    `node_modules/${name}/package.json`,
  )
  const directories = [name, ...Object.keys(optionalDependencies)]
    .map((each) => `node_modules/${each}`)
    .filter((directory) => existsSync(join(root, directory)))
  const files = directories.flatMap((directory) =>
    globSync(`${directory}/**`, { cwd: root, exclude: (path) => /\/node_modules$/.test(path) }),
  )
  const entries = files.map((file) => statSync(join(root, file))).filter((entry) => entry.isFile())
  return inKilobytes(sum(entries.map(({ size }) => size)))
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Rounded up, so that no package shows 0. */
function inKilobytes(bytes: number): string {
  return Math.ceil(bytes / 1000).toLocaleString('en')
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function readJson<Content>(path: string): Content {
  return JSON.parse(readFileSync(join(root, path), 'utf8'))
}

if (import.meta.main) writeFileSync(join(root, 'docs/dependencies.md'), composeDependencyPage())
