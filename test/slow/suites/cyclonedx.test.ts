import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { expect } from 'chai'
import { composeSbom } from '../../../scripts/release/sbom.ts'
import { root } from '../../scripts/package-file.ts'

const library = import.meta.resolve('@cyclonedx/cyclonedx-library/package.json')

/** Reads a schema in the library of CycloneDX, where it has a name other than its ID. */
function readSchema(file: string): object {
  return JSON.parse(readFileSync(new URL(`res/schema/${file}`, library), 'utf8'))
}

describe('the schema of CycloneDX 1.6', () => {
  it('accepts the software bill of materials', () => {
    const sbom = composeSbom(root, process.versions)
    const ajv = new Ajv({ strict: false })
    for (const file of ['spdx.SNAPSHOT.schema.json', 'jsf-0.82.SNAPSHOT.schema.json']) {
      ajv.addSchema(readSchema(file), `http://cyclonedx.org/schema/${file}`)
    }
    for (const format of ['date-time', 'idn-email', 'iri-reference', 'uri']) ajv.addFormat(format, true)
    const validate = ajv.compile(readSchema('bom-1.6.SNAPSHOT.schema.json'))
    validate(sbom)
    expect(validate.errors).to.equal(null)
    expect(validate({ ...sbom, components: [{ name: 'a' }] })).to.equal(false)
  })
})
