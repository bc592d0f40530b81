import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { expect } from 'chai'
import { packageFile, root } from '../scripts/package-file.ts'
import { createGitRepository, type GitRepository } from '../support/git-repository.ts'
import { perTest } from '../support/lifetime.ts'
import { describeSample } from '../support/take-sample.ts'
import { releaseKey } from './served-release.ts'

const { scripts } = packageFile
const files = {
  'package.json': JSON.stringify({
    name: 'chatctl',
    type: 'module',
    version: '0.1.0',
    scripts: { 'cut-release': scripts['cut-release'], version: scripts['version'] },
  }),
  'package-lock.json':
    '{\n  "name": "chatctl",\n  "version": "0.1.0",\n  "packages": {\n    "": {\n      "version": "0.1.0"\n    },\n    "a": {\n      "version": "0.1.0"\n    }\n  }\n}\n',
  'CHANGELOG.md': '# Changelog\n\n## Unreleased\n\n- New.\n',
  'README.md': '# chatctl\n',
  'docs/install.md': '0.1.0, chatctl_0.1.0_amd64.deb, chatctl-0.1.0.tgz, 10.1.0, 0.1.0.1\n',
  'docs/guides/ci.md': 'uses: OWNER/chatctl@v0.1.0\n',
  'docs/decisions/0001-a.md': 'Version 0.1.0\n',
}

describeSample('npm run cut-release', 2, () => {
  const repository = perTest(createRepository)
  const git = (...args: string[]) => repository.git(...args)
  const write = (name: string, content: string) => writeFileSync(join(repository.path, name), content)
  const read = (name: string) => readFileSync(join(repository.path, name), 'utf8')

  function cut(version: string) {
    const { env, path: cwd } = repository
    const PATH = `${dirname(process.execPath)}${delimiter}${env['PATH']}`
    return spawnSync('npm', ['run', 'cut-release', '--', version], {
      env: { ...env, PATH, npm_config_ignore_scripts: 'true', npm_config_loglevel: 'error' },
      cwd,
      encoding: 'utf8',
    })
  }

  it('sets the version, dates the changelog, commits, and signs a tag', () => {
    const { stderr, status } = cut('0.2.0')
    expect([stderr, status]).to.deep.equal(['', 0])
    expect(JSON.parse(read('package.json')).version).to.equal('0.2.0')
    const { packages, version } = JSON.parse(read('package-lock.json'))
    expect([version, packages[''].version, packages.a.version]).to.deep.equal(['0.2.0', '0.2.0', '0.1.0'])
    expect(read('CHANGELOG.md')).to.match(/\n## Unreleased\n\n## 0\.2\.0 - \d{4}-\d\d-\d\d\n\n- New\.\n$/)
    expect(read('docs/install.md')).to.equal(
      '0.2.0, chatctl_0.2.0_amd64.deb, chatctl-0.2.0.tgz, 10.1.0, 0.1.0.1\n',
    )
    expect(read('docs/guides/ci.md')).to.contain('@v0.2.0')
    expect(read('docs/decisions/0001-a.md')).to.contain('0.1.0')

    expect(git('log', '--format=%s')).to.equal('Release 0.2.0\nAdd a project')
    expect(git('status', '--porcelain')).to.equal('')
    git('verify-tag', 'v0.2.0')
    expect(git('rev-parse', 'v0.2.0^{commit}')).to.equal(git('rev-parse', 'HEAD'))
  })

  const cases: [string, () => ReturnType<typeof cut>, RegExp][] = [
    ['the version is not one', () => cut('v0.2'), /Invalid version|npm version/],
    [
      'a file is not committed',
      () => {
        write('README.md', '# Changed\n')
        return cut('0.2.0')
      },
      /Git working directory not clean/,
    ],
    [
      'the changelog lists no change',
      () => {
        write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n')
        git('commit', '--quiet', '--all', '--message=Remove the change')
        return cut('0.2.0')
      },
      /lists no change for 0\.2\.0\.\n.*git reset --hard/,
    ],
    [
      'the repository contains no public key for the signature of the release',
      () => {
        write('scripts/release/allowed_signers', '# PLACEHOLDER\n')
        git('commit', '--quiet', '--all', '--message=Remove the key')
        return cut('0.2.0')
      },
      /allowed_signers contains no key/,
    ],
  ]
  for (const [title, attempt, message] of cases) {
    it(`makes no commit and no tag if ${title}`, () => {
      const { stderr, status } = attempt()
      expect(stderr).to.match(message)
      expect(status).not.to.equal(0)
      expect(git('log', '--format=%s')).not.to.contain('Release')
      expect(git('tag', '--list', 'v0.2.0')).to.equal('')
    })
  }
})

/** A repository with the scripts of this one, the files of a project, and a key for tags. */
function createRepository(): GitRepository {
  const repository = createGitRepository()
  const { path, git } = repository
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(path, dirname(name)), { recursive: true })
    writeFileSync(join(path, name), content)
  }
  for (const name of ['date-release.ts', 'check-release.ts', 'release/signature.ts'])
    cpSync(join(root, 'scripts', name), join(path, 'scripts', name))
  writeFileSync(join(path, 'scripts/release/allowed_signers'), `${releaseKey().signers}\n`)
  const key = join(dirname(path), 'key')
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  writeFileSync(`${key}.signers`, `ada@example.com ${readFileSync(`${key}.pub`, 'utf8')}`)
  git('config', 'gpg.format', 'ssh')
  git('config', 'gpg.ssh.allowedSignersFile', `${key}.signers`)
  git('config', 'user.signingKey', key)
  git('add', '--all')
  git('commit', '--quiet', '--message=Add a project')
  return repository
}
