import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemRequirements } from '../../scripts/release/system-requirements.ts'
import { root } from '../scripts/package-file.ts'

/** The versions of a library's symbols that a program refers to. The linker stores them as text. */
function findVersions(program: string, library: string): string[] {
  return [...program.matchAll(new RegExp(`\\b${library}_(\\d+(?:\\.\\d+)+)\\0`, 'g'))].map(
    ([, version = '']) => version,
  )
}

function findNewest(versions: readonly string[]): string | undefined {
  return versions.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1)
}

const place = 'Change scripts/release/system-requirements.ts'

describe('the requirements of the executables for Linux', () => {
  let node: string

  before(function () {
    if (process.platform !== 'linux') this.skip()
    node = readFileSync(process.execPath, 'latin1')
  })

  it('name the glibc that Node needs', () => {
    expect(findNewest(findVersions(node, 'GLIBC')), place).to.equal(systemRequirements.glibc)
  })

  it('name the libstdc++ that Node needs', () => {
    expect(findNewest(findVersions(node, 'CXXABI')), place).to.equal(systemRequirements.cxxAbi)
  })

  it('are enough for the native add-on', () => {
    const keyring = join(root, 'node_modules/@napi-rs', `keyring-linux-${process.arch}-gnu`)
    const addOn = readFileSync(join(keyring, `keyring.linux-${process.arch}-gnu.node`), 'latin1')
    const versions = findVersions(addOn, 'GLIBC')
    expect(versions).not.to.have.length(0)
    expect(findNewest([...versions, systemRequirements.glibc]), place).to.equal(systemRequirements.glibc)
  })
})
