import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect } from 'chai'
import { findNodeComponents } from '../../scripts/release/node-components.ts'
import { composeSbom, readSbomOfNpm } from '../../scripts/release/sbom.ts'
import { packageFile, root } from '../scripts/package-file.ts'

interface Component {
  'bom-ref': string
  name: string
  group?: string
  version: string
  purl?: string
  licenses: unknown[]
  hashes?: { alg: string; content: string }[]
  components?: Component[]
  properties?: { name: string; value: string }[]
}

interface Sbom {
  metadata: { timestamp?: string; component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

const versions = process.versions
const ofNpm = readSbomOfNpm(root)
const compose = () => composeSbom(root, ofNpm, versions) as Sbom

const library = import.meta.resolve('@cyclonedx/cyclonedx-library/package.json')

/** Reads a schema in the library of CycloneDX, where it has a name other than its ID. */
function readSchema(file: string): object {
  return JSON.parse(readFileSync(new URL(`res/schema/${file}`, library), 'utf8'))
}

describe('the software bill of materials', () => {
  const sbom = compose()
  const find = (reference: string) => sbom.components.find(({ purl }) => purl === reference)

  it('is valid against the schema of CycloneDX 1.5', () => {
    const ajv = new Ajv({ strict: false })
    for (const file of ['spdx.SNAPSHOT.schema.json', 'jsf-0.82.SNAPSHOT.schema.json']) {
      ajv.addSchema(readSchema(file), `http://cyclonedx.org/schema/${file}`)
    }
    for (const format of ['date-time', 'idn-email', 'iri-reference', 'uri']) ajv.addFormat(format, true)
    const validate = ajv.compile(readSchema('bom-1.5.SNAPSHOT.schema.json'))
    validate(sbom)
    expect(validate.errors).to.equal(null)
    expect(validate({ ...sbom, components: [{ name: 'a' }] })).to.equal(false)
  })

  it('lists every package in dist/licenses.txt, with its license and hash', () => {
    const licenses = readFileSync(join(root, 'dist/licenses.txt'), 'utf8')
    const bundled = [...licenses.matchAll(/^=== (\S+) (\S+) \((.+)\)$/gm)]
    expect(bundled).to.have.length.above(150)
    for (const [, name = '', version, license] of bundled) {
      const component = find(`pkg:npm/${name.replace('@', '%40')}@${version}`)
      expect(component?.licenses, name).to.deep.equal([{ license: { id: license } }])
      expect(component?.hashes?.[0]?.content, name).to.match(/^[0-9a-f]{128}$/)
    }
  })

  it('lists the packages that npm installs, and the native add-ons of each system', () => {
    const names = sbom.components.map(({ group, name }) => [group, name].filter(Boolean).join('/'))
    expect(names).to.include.members(Object.keys(packageFile.dependencies))
    expect(names).to.include.members(['@napi-rs/keyring-linux-arm64-gnu', '@napi-rs/keyring-win32-x64-msvc'])
  })

  it('lists Node and its libraries', () => {
    const node = find(`pkg:generic/node@${versions.node}`)
    expect(node?.properties).to.deep.equal([{ name: 'chatctl:only-in', value: 'executables' }])
    const { openssl, v8 } = versions
    const inside = Object.fromEntries(node?.components?.map(({ name, version }) => [name, version]) ?? [])
    expect(inside).to.include({ openssl, v8 })
    expect(inside).not.to.have.any.keys('modules', 'unicode')
  })

  it('lists the components of jq.wasm', () => {
    const jq = sbom.components.find(({ name }) => name === 'jq-wasm')
    expect(jq?.components?.map(({ name }) => name)).to.deep.equal(['jq', 'oniguruma', 'decNumber'])
    expect(jq?.components?.[0]?.version).to.match(/^\d+\.\d+\.\d+$/)
  })

  it('contains each component once, with its dependencies', () => {
    const references = sbom.components.map((component) => component['bom-ref'])
    expect(new Set(references)).to.have.property('size', references.length)
    const known = new Set([...references, sbom.metadata.component['bom-ref']])
    expect(new Set(sbom.dependencies.map(({ ref }) => ref))).to.deep.equal(known)
    expect(
      sbom.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !known.has(ref)),
    ).to.deep.equal([])
    const { dependsOn } = sbom.dependencies.find(({ ref }) => ref.startsWith('fastify@')) ?? {}
    expect(dependsOn?.join(' ')).to.contain('avvio@').and.contain('find-my-way@')
  })

  it('is the same twice, and has a time only from SOURCE_DATE_EPOCH', () => {
    expect(JSON.stringify(compose()) === JSON.stringify(sbom)).to.equal(true)
    expect(sbom.metadata.timestamp).to.equal(undefined)
    process.env['SOURCE_DATE_EPOCH'] = '1700000000'
    try {
      expect(compose().metadata.timestamp).to.equal('2023-11-14T22:13:20.000Z')
    } finally {
      delete process.env['SOURCE_DATE_EPOCH']
    }
  })

  it('is refused if the license of a library in Node is unknown', () => {
    expect(() => findNodeComponents({ ...versions, ngtcp2: '' })).not.to.throw()
    expect(() => findNodeComponents({ novel: '1.0' })).to.throw('no license for novel 1.0')
  })
})
