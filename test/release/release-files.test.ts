import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { targets } from '../../scripts/executable/targets.ts'
import { archiveName, hashFile } from '../../scripts/release/describe-release.ts'
import { readSigners, signRelease } from '../../scripts/release/signature.ts'
import { writeRelease } from '../../scripts/release/write-release.ts'
import { packageFile } from '../scripts/package-file.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { createSandbox } from '../support/sandbox.ts'
import { describeSample } from '../support/take-sample.ts'
import {
  createReleaseDirectory,
  createSigningKey,
  ownTarget,
  releaseKey,
  serveRelease,
  writeStandInRelease,
} from './served-release.ts'

const url = 'https://github.com/acme/chatctl'

describeSample('the files of a release', 5, () => {
  const release = perSuite(() => serveRelease())
  const sandbox = perTest(createSandbox)
  const { version } = packageFile
  const read = (name: string) => readFileSync(join(release.directory, name), 'utf8')
  const unpack = (...args: string[]) => execFileSync('tar', args, { encoding: 'utf8' })

  async function hashOf(address: string): Promise<string> {
    const response = await fetch(address)
    expect(response.status, address).to.equal(200)
    const file = join(sandbox.home, 'download')
    writeFileSync(file, new Uint8Array(await response.arrayBuffer()))
    return hashFile(file)
  }

  it('are the same in a second run', () => {
    const contents = [1, 2].map(() => {
      const directory = createReleaseDirectory()
      const files = writeStandInRelease(directory, url).map((name) => [name, hashFile(join(directory, name))])
      rmSync(directory, { recursive: true })
      return files
    })
    expect(contents[0]).to.deep.equal(contents[1])
    expect(contents[0]).to.have.length(14)
  })

  it('are all listed in SHASUMS256.txt, in the notation of sha256sum', () => {
    const printed = execFileSync('sha256sum', ['--check', '--strict', 'SHASUMS256.txt'], {
      cwd: release.directory,
      encoding: 'utf8',
    })
    const listed = printed.split('\n').flatMap((line) => line.split(': ')[0] || [])
    expect([...listed, 'SHASUMS256.txt', 'SHASUMS256.txt.sig']).to.deep.equal(release.files)
    for (const target of Object.keys(targets)) expect(listed).to.include(archiveName(version, target))
  })

  it('include a Debian package, an npm package, and a bill of materials if these exist, but no other version', () => {
    const directory = createReleaseDirectory()
    const extra = [`chatctl_${version}_amd64.deb`, `chatctl-${version}.tgz`, 'sbom.cdx.json']
    for (const name of [...extra, 'chatctl_0.0.1_amd64.deb', 'chatctl-0.0.1.tgz'])
      writeFileSync(join(directory, name), name)
    const files = writeStandInRelease(directory, url)
    expect(files).to.include.members(extra).and.have.length(17)
    rmSync(directory, { recursive: true })
  })

  it('contain the program, the licenses, the completion scripts, and the man pages, without an owner', () => {
    const archive = join(release.directory, archiveName(version, 'linux-x64'))
    const lines = unpack('--numeric-owner', '--utc', '-tv', '-f', archive).trim().split('\n')
    for (const line of lines) expect(line).to.match(/^[d-]rw.r-.r-. 0\/0 +\d+ 2026-01-31 00:00 chatctl-/)
    const names = lines.map((line) => line.replace(/^.* chatctl-[^/]+\//, ''))
    expect(names).to.include.members([
      'chatctl',
      'LICENSE',
      'licenses.txt',
      'completions/chatctl.zsh',
      'man/chatctl-chat-send.1',
      'man/chatctl-output.7',
    ])
    const windows = execFileSync('unzip', ['-Z1', join(release.directory, archiveName(version, 'win-x64'))], {
      encoding: 'utf8',
    })
    expect(windows.trim().split('\n')).to.deep.equal([
      'LICENSE',
      'chatctl.exe',
      'completions/chatctl.ps1',
      'licenses.txt',
    ])
  })

  it('include the source maps of the bundles, for npm run trace', () => {
    const archive = join(release.directory, `chatctl-${version}-source-maps.tar.gz`)
    expect(unpack('-t', '-f', archive).split('\n')).to.include.members(['main.cjs.map', 'start.cjs.map'])
  })

  it('install with the Homebrew formula on each system, from the archive of that system', async () => {
    const choices: [string, string, string][] = [
      ['macos', 'arm', 'darwin-arm64'],
      ['macos', 'intel', 'darwin-x64'],
      ['linux', 'arm', 'linux-arm64'],
      ['linux', 'intel', 'linux-x64'],
    ]
    for (const [system, processor, target] of choices) {
      const [unpacked, prefix] = ['unpacked', 'prefix'].map((name) => join(sandbox.home, target, name))
      mkdirSync(unpacked ?? '', { recursive: true })
      const archive = join(release.directory, archiveName(version, target))
      // Homebrew enters the single directory of an archive.
      unpack('-x', '-f', archive, '-C', unpacked ?? '', '--strip-components=1')
      const harness = join(import.meta.dirname, 'formula.rb')
      const args = [harness, join(release.directory, 'chatctl.rb'), system, processor, unpacked, prefix]
      const printed = execFileSync('ruby', args as string[], { encoding: 'utf8' })
      const { sha256, url, ...rest } = JSON.parse(printed)
      expect(rest).to.deep.equal({
        desc: packageFile.description,
        homepage: release.url,
        version,
        license: 'MIT',
      })
      expect(url).to.contain(archiveName(version, target))
      expect(await hashOf(url)).to.equal(sha256)
      const installed = readdirSync(prefix ?? '', { recursive: true })
      expect(installed).to.include.members([
        'bin/chatctl',
        'share/man/man1/chatctl.1',
        'share/man/man7/chatctl-output.7',
        'etc/bash_completion.d/chatctl',
        'share/zsh/site-functions/_chatctl',
        'share/fish/vendor_completions.d/chatctl.fish',
      ])
    }
  })

  it('include a Scoop manifest with the hash of the download, which finds later versions', async () => {
    const { architecture, autoupdate, bin, checkver, ...rest } = JSON.parse(read('chatctl.json'))
    const { url, hash } = architecture['64bit']
    expect(await hashOf(url)).to.equal(hash)
    expect(unpackedNames()).to.include(bin)
    expect(checkver).to.deep.equal({ github: release.url })
    const later = autoupdate.architecture['64bit'].url as string
    expect(later.replaceAll('$version', version)).to.equal(url)
    expect(later).not.to.contain(version)
    const base = url.slice(0, url.lastIndexOf('/'))
    expect((await fetch(autoupdate.hash.url.replace('$baseurl', base))).status).to.equal(200)
    expect(rest).to.deep.equal({
      version,
      description: packageFile.description,
      homepage: release.url,
      license: 'MIT',
    })
  })

  it('include winget manifests with the hash of the download and what their schemas require', async () => {
    const manifests = ['', '.installer', '.locale.en-US'].map((part) => read(`acme.chatctl${part}.yaml`))
    const types = ['version', 'installer', 'defaultLocale']
    for (const [index, text] of manifests.entries()) {
      const { PackageIdentifier, PackageVersion, ManifestType, ManifestVersion } = parse(text)
      expect([PackageIdentifier, PackageVersion, ManifestType]).to.deep.equal([
        'acme.chatctl',
        version,
        types[index],
      ])
      expect(text).to.contain(`winget-manifest.${ManifestType}.${ManifestVersion}.schema.json`)
    }
    const [{ DefaultLocale }, { Installers, NestedInstallerFiles }, locale] = manifests.map((text) =>
      parse(text),
    )
    expect(DefaultLocale).to.equal(locale.PackageLocale)
    expect(locale.ShortDescription).to.have.length.within(3, 256)
    expect(locale).to.include.keys('Publisher', 'PackageName', 'License')
    expect(unpackedNames()).to.include(NestedInstallerFiles[0].RelativeFilePath)
    const [{ InstallerUrl, InstallerSha256, Architecture }] = Installers
    expect(Architecture).to.equal('x64')
    expect(InstallerSha256).to.match(/^[0-9A-F]{64}$/)
    expect(await hashOf(InstallerUrl)).to.equal(InstallerSha256.toLowerCase())
  })

  it('are not written if an executable is missing, and the error names the command that builds it', () => {
    const directory = createReleaseDirectory()
    rmSync(join(directory, 'chatctl-win-x64.exe'))
    const options = { directory, url, time: 0, signers: releaseKey().signers }
    expect(() => writeRelease(options)).to.throw('npm run executable -- win-x64')
    const files = writeRelease({ ...options, included: [ownTarget] })
    expect(files).to.deep.equal([
      archiveName(version, ownTarget),
      `chatctl-${version}-source-maps.tar.gz`,
      'chatctl.rb',
      'install.sh',
      'SHASUMS256.txt',
    ])
    rmSync(directory, { recursive: true })
  })

  it('are signed only with a key whose public key is in the repository', () => {
    const [own, other] = [releaseKey(), createSigningKey()]
    expect(() => signRelease(release.directory, other.key, own.signers)).to.throw(
      /Cannot sign with a key of .*allowed_signers: .*Could not verify/s,
    )
    expect(readSigners(`# Comment\n${own.signers}\n${other.signers}\n`)).to.equal(
      `${own.signers}\n${other.signers}`,
    )
    expect(() => readSigners(`# ${own.signers}\n`)).to.throw('allowed_signers contains no key')
  })

  it('are not written for an address that is not that of a repository', () => {
    const options = { directory: release.directory, time: 0, signers: releaseKey().signers }
    for (const address of [
      'http://github.com/acme/chatctl',
      'https://github.com/acme',
      'https://github.com/acme/chat"ctl',
      'https://github.com/acme/chatctl/releases',
      'file:///acme/chatctl',
      'http://127.0.0.1.example/acme/chatctl',
    ])
      expect(() => writeRelease({ ...options, url: address }), address).to.throw(
        'is not the address of a repository',
      )
  })

  function unpackedNames(): string[] {
    const archive = join(release.directory, archiveName(version, 'win-x64'))
    return execFileSync('unzip', ['-Z1', archive], { encoding: 'utf8' }).split('\n')
  }
})
