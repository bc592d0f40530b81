import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { expect } from 'chai'
import { root } from '../scripts/package-file.ts'
import { createGitRepository, type GitRepository } from '../support/git-repository.ts'
import { perTest } from '../support/lifetime.ts'
import { releaseKey } from './served-release.ts'

const files = {
  'package.json': '{\n  "name": "chatctl",\n  "type": "module",\n  "version": "0.1.0"\n}\n',
  'package-lock.json':
    '{\n  "name": "chatctl",\n  "version": "0.1.0",\n  "packages": {\n    "": {\n      "version": "0.1.0"\n    },\n    "a": {\n      "version": "0.1.0"\n    }\n  }\n}\n',
  'CHANGELOG.md': '# Changelog\n\n## Unreleased\n\n- New.\n',
  'README.md': '# chatctl\n',
  'docs/install.md': '0.1.0, chatctl_0.1.0_amd64.deb, chatctl-0.1.0.tgz, 10.1.0, 0.1.0.1\n',
  'docs/guides/ci.md': 'uses: OWNER/chatctl@v0.1.0\n',
  'docs/decisions/0001-a.md': 'Version 0.1.0\n',
}

describe('npm run cut-release', () => {
  const repository = perTest(createRepository)
  const git = (...args: string[]) => repository.git(...args)
  const write = (name: string, content: string) => writeFileSync(join(repository.path, name), content)
  const read = (name: string) => readFileSync(join(repository.path, name), 'utf8')

  /** @param gh a shell script in place of the GitHub CLI */
  function cut(version: string, gh = 'echo "no network" >&2; exit 1') {
    const directory = join(dirname(repository.path), 'bin')
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'gh'), `#!/bin/sh\n${gh}\n`, { mode: 0o755 })
    const env = { ...repository.env, PATH: `${directory}${delimiter}${repository.env['PATH']}` }
    const script = join(repository.path, 'scripts/cut-release.ts')
    return spawnSync(process.execPath, [script, version], { env, encoding: 'utf8' })
  }

  it('sets the version, dates the changelog, commits, signs a tag, and names the command that publishes', () => {
    const { stdout, stderr, status } = cut(
      '0.2.0',
      'echo \'[{"status": "completed", "conclusion": "success"}]\'',
    )
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

    const [, command = ''] = /CI has passed\.\nPublish it with: git (.*)\n$/.exec(stdout) ?? []
    const origin = join(dirname(repository.path), 'origin')
    git('init', '--quiet', '--bare', origin)
    git('remote', 'add', 'origin', origin)
    git(...command.split(' '))
    expect(git('ls-remote', 'origin').match(/refs\S+/g)).to.deep.equal([
      'refs/heads/main',
      'refs/tags/v0.2.0',
      'refs/tags/v0.2.0^{}',
    ])
  })

  it('names what to run before the push if the result of CI is unknown', () => {
    const { stdout, status } = cut('0.1.0')
    expect(stdout).to.contain('(no network). Before you push, run: .ci/run\n')
    expect(status).to.equal(0)
  })

  const cases: [string, () => ReturnType<typeof cut>, RegExp][] = [
    ['the version is not one', () => cut('v0.2'), /"v0\.2" is not a version/],
    ['the version is lower', () => cut('0.0.9'), /0\.0\.9 is not higher than 0\.1\.0/],
    [
      'the tag exists',
      () => {
        git('tag', 'v0.10.0')
        return cut('0.10.0')
      },
      /tag v0\.10\.0 exists/,
    ],
    [
      'a file is not committed',
      () => {
        write('new.txt', '')
        return cut('0.2.0')
      },
      /changes first:\n\?\? new\.txt/,
    ],
    [
      'the branch is another one',
      () => {
        git('switch', '--quiet', '--create', 'feature')
        return cut('0.2.0')
      },
      /branch is "feature"\. Run: git switch main/,
    ],
    [
      'CI has failed',
      () => cut('0.2.0', 'echo \'[{"conclusion": "failure"}]\''),
      /CI has not passed .*: failure/,
    ],
    ['CI has not run', () => cut('0.2.0', 'echo "[]"'), /CI has not checked \w+\. Push it/],
    [
      'the changelog lists no change',
      () => {
        write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n')
        git('commit', '--quiet', '--all', '--message=Remove the change')
        return cut('0.2.0')
      },
      /lists no change for 0\.2\.0/,
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
    [
      'the tag cannot be signed',
      () => {
        git('config', 'user.signingKey', '/nowhere')
        return cut('0.2.0')
      },
      /cannot sign the tag: .*\nChoose a key/s,
    ],
  ]
  for (const [title, attempt, message] of cases) {
    it(`changes nothing if ${title}`, () => {
      const { stdout, stderr, status } = attempt()
      expect(stderr).to.match(message).and.contain('Nothing was changed.')
      expect([stdout, status]).to.deep.equal(['', 1])
      expect(git('log', '--format=%s')).not.to.contain('Release')
      expect(git('status', '--porcelain', '--untracked-files=no')).to.equal('')
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
  for (const name of ['cut-release.ts', 'check-release.ts', 'release/signature.ts'])
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
