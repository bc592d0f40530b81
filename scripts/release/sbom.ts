import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { BundledPackage } from '../bundled-packages.ts'
import { findNodeComponents, type Inside } from './node-components.ts'

/**
 * Writes release/sbom.cdx.json, the software bill of materials (SBOM) of the npm package and of the executables,
 * in the format CycloneDX 1.5. `npm sbom` describes all packages of the lock file; this script selects those that are
 * bundled or installed, and adds Node with its libraries. The same sources yield the same bytes. Requires a build.
 */

/** The parts of the output of `npm sbom` that this script uses. */
interface Sbom {
  metadata: { component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

interface Component {
  'bom-ref': string
  group?: string
  name: string
  version: string
  description?: string
  purl: string
  hashes?: object[]
  licenses?: object[]
}

/** What jq.wasm is compiled from. Its package states only the version of jq. */
const jqComponents = (version: string): Inside[] => [
  { name: 'jq', version: version.replace(/.*-jq-/, ''), license: 'MIT', cpe: 'jqlang:jq' },
  { name: 'oniguruma', license: 'BSD-2-Clause', cpe: 'oniguruma_project:oniguruma' },
  { name: 'decNumber', license: 'ICU' },
]

/** The output of `npm sbom` for all packages of the lock file. */
export function readSbomOfNpm(root: string): Sbom {
  const npm = process.env['npm_execpath']
  const [command, start] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []]
  const args = [...start, 'sbom', '--package-lock-only', '--sbom-format=cyclonedx']
  return JSON.parse(execFileSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 }))
}

/** The packages that are bundled into dist, and those that are installed with chatctl. */
function findShipped(
  bundled: readonly Pick<BundledPackage, 'directory'>[],
  locked: Record<string, { dev?: boolean }>,
): Set<string> {
  const installed = Object.entries(locked).filter(([directory, { dev }]) => directory !== '' && !dev)
  const inside = bundled.map(({ directory }) => directory.slice(directory.indexOf('node_modules/')))
  return new Set([...installed.map(([directory]) => directory), ...inside])
}

/** @param versions those of the Node in the executables, as in `process.versions` */
export function composeSbom(
  root: string,
  { metadata, components, dependencies }: Sbom,
  versions: Record<string, string | undefined>,
): object {
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
  const { name, version, description } = read('package.json')
  const locked: Record<string, { version: string; dev?: boolean }> = read('package-lock.json').packages
  const shipped = [...findShipped(read('dist/.packages.json'), locked)].map((directory) => {
    const name = directory.slice(directory.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return { reference: `${name}@${locked[directory]?.version}`, isInstalled: !locked[directory]?.dev }
  })
  const references = new Set(shipped.map(({ reference }) => reference))
  const own = metadata.component['bom-ref']
  const listed = new Set(components.map((component) => component['bom-ref']))
  const missing = [...references].filter((reference) => !listed.has(reference))
  if (missing.length > 0) throw new Error(`npm sbom does not list ${missing.join(', ')}`)
  const node = `node@${versions['node']}`
  const installed = shipped.filter(({ isInstalled }) => isInstalled).map(({ reference }) => reference)
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      ...timestamp(),
      lifecycles: [{ phase: 'build' }],
      component: { ...metadata.component, type: 'application', name, version, description },
    },
    components: [
      ...components.filter((component) => references.has(component['bom-ref'])).map(describePackage),
      describeNode(node, versions),
    ],
    dependencies: [
      ...dependencies
        .filter(({ ref }) => references.has(ref) || ref === own)
        .map(({ ref, dependsOn }) => ({
          ref,
          dependsOn: [...dependsOn.filter((other) => references.has(other)), ...(ref === own ? [node] : [])],
        })),
      { ref: node, dependsOn: [] },
    ],
    // The native add-ons contain Rust crates that are not listed.
    compositions: [{ aggregate: 'incomplete', assemblies: [...new Set(installed), node] }],
  }
}

/** Without what npm says about the package as a tool of this repository. */
function describePackage({ 'bom-ref': reference, ...component }: Component): object {
  const { name, version, purl, hashes, licenses } = component
  const [ownName = '', group] = name.split('/').reverse()
  return {
    type: 'library',
    'bom-ref': reference,
    ...(group ? { group } : {}),
    name: ownName,
    version,
    purl,
    ...(hashes?.length ? { hashes } : {}),
    ...(licenses?.length ? { licenses } : {}),
    ...(name === 'jq-wasm' ? { components: jqComponents(version).map(describeInside(reference)) } : {}),
    // Node's own crypto.argon2 replaces it in executables.
    ...(name.startsWith('@node-rs/argon2') ? { properties: [isOnlyIn('npm package')] } : {}),
  }
}

function describeNode(reference: string, versions: Record<string, string | undefined>): object {
  return {
    type: 'platform',
    'bom-ref': reference,
    name: 'node',
    version: versions['node'],
    licenses: [{ license: { id: 'MIT' } }],
    cpe: cpeOf('nodejs:node.js', versions['node']),
    purl: `pkg:generic/${reference}`,
    components: findNodeComponents(versions).map(describeInside(reference)),
    properties: [isOnlyIn('executables')],
  }
}

function describeInside(parent: string) {
  return ({ name, version, license, cpe }: Inside): object => ({
    type: 'library',
    'bom-ref': `${parent}#${name}`,
    name,
    ...(version ? { version } : {}),
    licenses: [{ license: { id: license } }],
    ...(cpe ? { cpe: cpeOf(cpe, version) } : {}),
  })
}

function cpeOf(vendorAndProduct: string, version = '*'): string {
  return `cpe:2.3:a:${vendorAndProduct}:${version}:*:*:*:*:*:*:*`
}

function isOnlyIn(artifact: string): object {
  return { name: 'chatctl:only-in', value: artifact }
}

/** The variable of reproducible-builds.org, in seconds. */
function timestamp(): object {
  const seconds = process.env['SOURCE_DATE_EPOCH']
  return seconds ? { timestamp: new Date(Number(seconds) * 1000).toISOString() } : {}
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '../..')
  mkdirSync(join(root, 'release'), { recursive: true })
  const sbom = composeSbom(root, readSbomOfNpm(root), process.versions)
  writeFileSync(join(root, 'release/sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`)
}
