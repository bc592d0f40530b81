import { expect } from 'chai'
import { findCacheFaults, findReleaseFaults } from '../../scripts/check-release.ts'

describe('a release', () => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-03-01\n\n- New.\n\n## 1.1.0 - 2026-02-01\n'

  const signers = '# Comment\nchatctl-release ssh-ed25519 AAAA\n'

  it('is valid if tag, version, and section of the changelog agree', () => {
    expect(findReleaseFaults('v1.2.0', '1.2.0', changelog, signers)).to.deep.equal([])
  })

  it('is refused if the tag is not the version', () => {
    expect(findReleaseFaults('v1.2.1', '1.2.0', changelog, signers)).to.have.length(1)
    expect(findReleaseFaults('1.2.0', '1.2.0', changelog, signers)).to.have.length(1)
  })

  it('is refused if the changelog has no section, date, or change for it', () => {
    expect(findReleaseFaults('v1.3.0', '1.3.0', changelog, signers)).to.deep.equal([
      'CHANGELOG.md has no section 1.3.0.',
    ])
    expect(findReleaseFaults('v1.1.0', '1.1.0', changelog, signers)).to.deep.equal([
      'CHANGELOG.md lists no change for 1.1.0.',
    ])
    const undated = changelog.replace(' - 2026-03-01', '')
    expect(findReleaseFaults('v1.2.0', '1.2.0', undated, signers)).to.deep.equal([
      'CHANGELOG.md has no date for 1.2.0.',
    ])
  })

  it('is refused if the repository contains no public key for its signature', () => {
    const [fault, ...others] = findReleaseFaults('v1.2.0', '1.2.0', changelog, signers.replace(/^c/m, '# c'))
    expect(fault).to.contain('allowed_signers contains no key')
    expect(others).to.deep.equal([])
  })

  const versions = ['12.4.254.21-node.33', '13.6.233.17-node.53', '14.6.202.34-node.20']
  const caches = versions.flatMap((v8) =>
    ['main-0123456789abcdef.zst', 'local-service-0123456789abcdef.zst', 'start-0123456789abcdef'].map(
      (name) => `package/dist/code-cache/${name}`.replace(/(\.zst)?$/, `-${v8}-linux-x64$1`),
    ),
  )

  it('is valid if the package has the same code caches for each line of Node', () => {
    expect(findCacheFaults(['package/dist/main.cjs', ...caches])).to.deep.equal([])
  })

  it('is refused if the package lacks a code cache', () => {
    expect(findCacheFaults(['package/dist/main.cjs'])).to.deep.equal([
      'The package has code caches for 0 versions of V8, not 3.',
    ])
    expect(findCacheFaults(caches.slice(3))).to.deep.equal([
      'The package has code caches for 2 versions of V8, not 3.',
    ])
    expect(findCacheFaults(caches.slice(1))).to.deep.equal(['The code cache for V8 12.4.254.21 lacks main.'])
    expect(findCacheFaults(caches.toSpliced(2, 1))).to.deep.equal([
      'The code cache for V8 12.4.254.21 lacks start.',
    ])
  })
})
