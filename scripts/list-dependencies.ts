import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { BundledPackage } from './bundled-packages.ts'
import { dependencyReasons } from './dependency-reasons.ts'

/** Writes docs/dependencies.md, after a build. */

const root = resolve(import.meta.dirname, '..')

interface Installed {
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

/** The page: what an installation brings, what is inside of dist, what only development needs. */
export function composeDependencyPage(): string {
  const { dependencies, devDependencies }: Installed = readJson('package.json')
  const bundled: BundledPackage[] = readJson('dist/.packages.json')
  const development = Object.keys(devDependencies)
  const inside = development.filter((name) => findBundled(name, bundled))
  return `# Dependencies

Made by \`npm run docs\`; the reasons are in \`scripts/dependency-reasons.ts\`. Sizes are in kB. What an installation brings altogether, and why the rest is inside of \`dist\`, is [decision 13](decisions/0013-what-an-installation-brings.md). \`dist/licenses.txt\` has the license of everything that is bundled.

## Brought by an installation

With the binary of one system, which is a package of its own.

${table(
  ['package', 'for', 'unpacked'],
  Object.keys(dependencies).map((name) => [name, reasonOf(name), unpackedSize(name)]),
)}

## Inside of dist

What is unpacked is the whole package; what is bundled is the part that we use, in all bundles together, without what it brings.

${table(
  ['package', 'for', 'unpacked', 'bundled', 'in'],
  inside.map((name) => [name, reasonOf(name), unpackedSize(name), ...describeBundled(name, bundled)]),
)}

${describeBrought(bundled, inside)}

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

/** Another version of it may be there too, inside of the package that wants it. */
function findBundled(name: string, bundled: readonly BundledPackage[]): BundledPackage | undefined {
  return bundled.find(({ folder }) => folder.split('node_modules/').slice(1).join() === name)
}

function describeBundled(name: string, bundled: readonly BundledPackage[]): [bytes: string, bundles: string] {
  const bytes = findBundled(name, bundled)?.bytes ?? {}
  return [inKilobytes(sum(Object.values(bytes))), Object.keys(bytes).sort().join(', ')]
}

function describeBrought(bundled: readonly BundledPackage[], direct: readonly string[]): string {
  const own = new Set(direct.map((name) => findBundled(name, bundled)))
  const brought = bundled.filter((package_) => !own.has(package_))
  const bytes = sum(brought.flatMap((package_) => Object.values(package_.bytes)))
  return `These bring ${brought.length} more, of which ${inKilobytes(bytes)} kB are bundled.`
}

/** With what it has for this system in packages of their own, and without packages inside of it. */
function unpackedSize(name: string): string {
  const { optionalDependencies = {} } = readJson<{ optionalDependencies?: object }>(
    `node_modules/${name}/package.json`,
  )
  const folders = [name, ...Object.keys(optionalDependencies)]
    .map((each) => `node_modules/${each}`)
    .filter((folder) => existsSync(join(root, folder)))
  const files = folders.flatMap((folder) =>
    globSync(`${folder}/**`, { cwd: root, exclude: (path) => /\/node_modules$/.test(path) }),
  )
  const entries = files.map((file) => statSync(join(root, file))).filter((entry) => entry.isFile())
  return inKilobytes(sum(entries.map(({ size }) => size)))
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Rounded up, so that nothing takes no place. */
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
