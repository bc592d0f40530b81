import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { BundledPackage } from './bundled-packages.ts'
import { dependencyReasons } from './dependency-reasons.ts'

/** Writes docs/dependencies.md. Requires a build. */

const root = resolve(import.meta.dirname, '..')

interface PackageFile {
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

/** The page has a table for each way in which a package is used. */
export function composeDependencyPage(): string {
  const { dependencies, devDependencies }: PackageFile = readJson('package.json')
  const lanes: PackageFile = readJson('test/package.json')
  const bundled: BundledPackage[] = readJson('dist/.packages.json')
  const development = Object.keys(devDependencies)
  const inside = development.filter((name) => findBundled(name, bundled))
  return `# Dependencies

\`npm run docs\` generates this page; the purposes are from \`scripts/dependency-reasons.ts\`. [Decision 13](decisions/0013-what-an-installation-brings.md) explains why most packages are bundled into \`dist\`. \`dist/licenses.txt\` has the licenses of all bundled packages.

## Installed

${table(['package', 'for'], describe(Object.keys(dependencies)))}

## Bundled

${table(
  ['package', 'for', 'in'],
  inside.map((name) => [name, reasonOf(name), findBundles(name, bundled)]),
)}

These depend on ${bundled.length - inside.length} more packages.

## Development

\`npm start\` and \`npm test\` install these packages.

${table(['package', 'for'], describe(development.filter((name) => !inside.includes(name))))}

## Test lanes

\`npm run lint\`, \`types\`, and \`unused\`, and all test lanes but \`npm test\` also install the packages of \`test/package.json\` ([decision 23](decisions/0023-packages-of-a-checkout.md)).

${table(['package', 'for'], describe(Object.keys(lanes.devDependencies)))}
`
}

function describe(names: readonly string[]): string[][] {
  return names.map((name) => [name, reasonOf(name)])
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

function findBundles(name: string, bundled: readonly BundledPackage[]): string {
  return Object.keys(findBundled(name, bundled)?.bytes ?? {})
    .sort()
    .join(', ')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function readJson<Content>(path: string): Content {
  return JSON.parse(readFileSync(join(root, path), 'utf8'))
}

if (import.meta.main) writeFileSync(join(root, 'docs/dependencies.md'), composeDependencyPage())
