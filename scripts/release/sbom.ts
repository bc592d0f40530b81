import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findShipped } from '../audit-shipped.ts'
import { findNodeComponents, type Inside } from './node-components.ts'

/**
 * Writes release/sbom.cdx.json, the software bill of materials (SBOM) of the npm package and of the executables,
 * in the format CycloneDX 1.6. It has the packages that are bundled, those that npm installs, and Node with its
 * libraries. The same sources yield the same bytes. Requires a build.
 */

interface Locked {
  version: string
  license?: string
  integrity?: string
  dev?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

interface PackageFile {
  name: string
  version: string
  description: string
  license: string
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

/** What jq.wasm is compiled from. Its package states only the version of jq. */
const jqComponents = (version: string): Inside[] => [
  { name: 'jq', version: version.replace(/.*-jq-/, ''), license: 'MIT', cpe: 'jqlang:jq' },
  { name: 'oniguruma', license: 'BSD-2-Clause', cpe: 'oniguruma_project:oniguruma' },
  { name: 'decNumber', license: 'ICU' },
]

/** @param versions those of the Node in the executables, as in `process.versions` */
export function composeSbom(root: string, versions: Record<string, string | undefined>): object {
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
  const file: PackageFile = read('package.json')
  const locked: Record<string, Locked> = read('package-lock.json').packages
  const shipped = findShipped(read('dist/.packages.json'), locked)
  const find = (directory: string): Locked => {
    const package_ = locked[directory]
    if (!package_) throw new Error(`package-lock.json has no ${directory}`)
    return package_
  }
  const referenceOf = (directory: string): string =>
    `pkg:npm/${nameOf(directory).replace('@', '%40')}@${find(directory).version}`
  const resolveAll = (directory: string, names: object): string[] =>
    Object.keys(names)
      .flatMap((name) => resolveFrom(directory, name, shipped) ?? [])
      .map(referenceOf)
  // The same version of a package may be in several directories.
  const packages = Object.entries(Object.groupBy([...shipped].sort(), referenceOf))
  const program = `pkg:npm/${file.name}@${file.version}`
  const node = `pkg:generic/node@${versions['node']}`

  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      ...timestamp(),
      lifecycles: [{ phase: 'build' }],
      component: {
        type: 'application',
        'bom-ref': program,
        name: file.name,
        version: file.version,
        description: file.description,
        licenses: [licenseOf(file.license)],
        purl: program,
      },
    },
    components: [
      ...packages.map(([reference, [directory = ''] = []]) =>
        describePackage(reference, nameOf(directory), find(directory)),
      ),
      describeNode(node, versions),
    ],
    dependencies: [
      edge(program, [...resolveAll('', { ...file.dependencies, ...file.devDependencies }), node]),
      ...packages.map(([reference, directories = []]) => {
        const targets = directories.flatMap((directory) => {
          const { dependencies, optionalDependencies } = find(directory)
          return resolveAll(directory, { ...dependencies, ...optionalDependencies })
        })
        return edge(reference, targets)
      }),
      edge(node, []),
    ],
    // The native add-ons contain Rust crates that are not listed.
    compositions: [
      {
        aggregate: 'incomplete',
        assemblies: [
          ...packages
            .filter(([, [directory = ''] = []]) => !find(directory).dev)
            .map(([reference]) => reference),
          node,
        ],
      },
    ],
  }
}

function describePackage(
  reference: string,
  fullName: string,
  { version, license, integrity }: Locked,
): object {
  const [name = '', group] = fullName.split('/').reverse()
  return {
    type: 'library',
    'bom-ref': reference,
    ...(group ? { group } : {}),
    name,
    version,
    ...(integrity ? { hashes: [hashOf(integrity)] } : {}),
    ...(license ? { licenses: [licenseOf(license)] } : {}),
    purl: reference,
    ...(name === 'jq-wasm' ? { components: jqComponents(version).map(describeInside(reference)) } : {}),
    // Node's own crypto.argon2 replaces it in executables.
    ...(fullName.startsWith('@node-rs/argon2') ? { properties: [isOnlyIn('npm package')] } : {}),
  }
}

function describeNode(reference: string, versions: Record<string, string | undefined>): object {
  return {
    type: 'platform',
    'bom-ref': reference,
    name: 'node',
    version: versions['node'],
    licenses: [licenseOf('MIT')],
    cpe: cpeOf('nodejs:node.js', versions['node']),
    purl: reference,
    components: findNodeComponents(versions).map(describeInside(reference)),
    properties: [isOnlyIn('executables')],
  }
}

function edge(ref: string, targets: readonly string[]): object {
  return { ref, dependsOn: [...new Set(targets)].sort() }
}

/** @param directory a key of the lock file */
function nameOf(directory: string): string {
  return directory.slice(directory.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

/** Finds a package from the directory of its dependent, like Node. */
function resolveFrom(directory: string, name: string, present: ReadonlySet<string>): string | undefined {
  const place = `${directory && `${directory}/`}node_modules/${name}`
  if (present.has(place) || directory === '') return present.has(place) ? place : undefined
  return resolveFrom(directory.slice(0, Math.max(0, directory.lastIndexOf('/node_modules/'))), name, present)
}

/** @param integrity as in the lock file: a hash of the tarball in the registry, in base64 */
function hashOf(integrity: string): object {
  const [algorithm = '', hash = ''] = integrity.split('-')
  return { alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(hash, 'base64').toString('hex') }
}

function licenseOf(license: string): object {
  return license.includes(' ') ? { expression: license } : { license: { id: license } }
}

function describeInside(parent: string) {
  return ({ name, version, license, cpe }: Inside): object => ({
    type: 'library',
    'bom-ref': `${parent}#${name}`,
    name,
    ...(version ? { version } : {}),
    licenses: [licenseOf(license)],
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
  const sbom = composeSbom(root, process.versions)
  writeFileSync(join(root, 'release/sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`)
}
