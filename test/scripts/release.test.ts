import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import type { BundledPackage } from '../../scripts/bundled-packages.ts'
import { findCacheFaults, findReleaseFaults } from '../../scripts/check-release.ts'
import { composeExecutableLicenses } from '../../scripts/compose-licenses.ts'
import { packageFile, root } from './package-file.ts'

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

/** A message of Koa quotes this. */
const quoted = 'keygrip'

/** The packages that dist requires at run time. */
function findRequired(): string[] {
  const call = /(?<![\w.$"'`])(?:require(?:\.resolve)?|import)\(\s*(["'`])([^"'`]+)\1/g
  const named = globSync('dist/*.cjs', { cwd: root }).flatMap((file) =>
    [...readFileSync(join(root, file), 'latin1').matchAll(call)].map(([, , name = '']) => name),
  )
  const ofOthers = named.filter((name) => !name.startsWith('./') && name !== quoted && !isBuiltin(name))
  return [...new Set(ofOthers)].sort()
}

describe('the scripts of package.json', () => {
  // npm itself runs `version`, for `npm run cut-release` in a checkout that is installed.
  const scripts = Object.entries(packageFile.scripts).filter(([name]) => name !== 'version')

  it('start scripts/run.mjs, which installs what is missing, if they run code of this repository', () => {
    const starts = /^(?:[A-Z_]+=\w+ )?(?:node scripts\/run\.mjs |npm (?:run|test|audit|install|version)\b)/
    const others = scripts.flatMap(([name, text]) =>
      text.split(' && ').flatMap((command) => (starts.test(command) ? [] : `${name}: ${command}`)),
    )
    expect(others, 'Begin these with: node scripts/run.mjs').to.deep.equal([])
  })

  it('are no hooks, which npm skips with ignore-scripts=true', () => {
    const names = scripts.map(([name]) => name)
    const hooks = names.filter((name) =>
      names.some((other) => [`pre${other}`, `post${other}`].includes(name)),
    )
    expect(hooks, 'Use an option of scripts/run.mjs').to.deep.equal([])
  })
})

describe('the dependencies of an installation', () => {
  it('are exactly the packages that dist requires', () => {
    const place = 'Only native packages are `dependencies`; the build bundles `devDependencies`'
    expect(findRequired(), place).to.deep.equal(Object.keys(packageFile.dependencies).sort())
  })

  it('run no scripts when they are installed, and neither does this package', () => {
    const run = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare']
    expect(packageFile.scripts).not.to.have.any.keys(run)
    const brought = lockedPackages().filter(([, { dev }]) => !dev)
    expect(brought.map(([name]) => name)).to.include.members(Object.keys(packageFile.dependencies))
    expect(brought.filter(([, { hasInstallScript }]) => hasInstallScript)).to.deep.equal([])
  })

  it('are in the lock files with a hash, also for other platforms', () => {
    for (const path of ['package-lock.json', 'test/package-lock.json']) {
      const locked = lockedPackages(path)
      const names = new Set(locked.map(([name]) => name))
      for (const [name, { integrity, resolved, optionalDependencies = {} }] of locked) {
        expect(integrity, name).to.match(/^sha512-/)
        expect(resolved, `${name}: run npm run lock`).to.equal(undefined)
        const missing = Object.keys(optionalDependencies).filter(
          (other) => !names.has(other) && !names.has(`${name}/${other}`),
        )
        expect(missing, `${path} lacks these. The registry must have them when you run: npm run lock`).to.be
          .empty
      }
    }
  })
})

describe('the packages of the test lanes', () => {
  it('are no other versions of packages that `npm test` uses', () => {
    const versions = (path?: string) =>
      new Map(lockedPackages(path).map(([name, { version }]) => [name, version]))
    const lanes = versions('test/package-lock.json')
    const different = [...versions()].filter(
      ([name, version]) => lanes.has(name) && lanes.get(name) !== version,
    )
    const direct = new Set(Object.keys({ ...packageFile.dependencies, ...packageFile.devDependencies }))
    expect(
      different.map(([name]) => name).filter((name) => direct.has(name)),
      'Run: npm run lock',
    ).to.deep.equal([])
  })
})

interface Locked {
  version?: string
  dev?: boolean
  optional?: boolean
  integrity?: string
  resolved?: string
  hasInstallScript?: boolean
  optionalDependencies?: Record<string, string>
}

/** Each with its name. A package inside another one has its whole path. */
function lockedPackages(path = 'package-lock.json'): [string, Locked][] {
  const lock: { packages: Record<string, Locked> } = JSON.parse(readFileSync(join(root, path), 'utf8'))
  return Object.entries(lock.packages)
    .filter(([path]) => path !== '')
    .map(([path, entry]) => [path.replaceAll('node_modules/', ''), entry])
}

interface Section {
  name: string
  version: string
  license: string
  text: string
}

/** Licenses under which a package may be part of a program with the MIT license if its license text is included. */
const permitted = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT']

function readSections(text = readFileSync(join(root, 'dist/licenses.txt'), 'utf8')): Section[] {
  const parts = text.split(/^=== (\S+) (\S+) \((.+)\)$/m).slice(1)
  return Array.from({ length: parts.length / 4 }, (_, index) => {
    const [name = '', version = '', license = '', body = ''] = parts.slice(index * 4)
    return { name, version, license, text: body.trim() }
  })
}

/** The packages that the source imports. */
function findUsed(): Set<string> {
  const source = globSync('src/**/*.ts', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'))
  const names = source.flatMap((text) =>
    [...text.matchAll(/^(?!import type).*(?:from |import\()'((?:@[\w-]+\/)?[\w.-]+)(?:\/[^']*)?'/gm)]
      .map(([, name = '']) => name)
      .filter((name) => !name.startsWith('.') && !isBuiltin(name)),
  )
  return new Set(names)
}

describe('dist/licenses.txt', () => {
  const sections = readSections()

  it('lists every package that the source imports, except the dependencies of an installation', () => {
    const listed = new Set(sections.map(({ name }) => name))
    const missing = [...findUsed()].filter((name) => !listed.has(name) && !(name in packageFile.dependencies))
    expect(findUsed().size).to.be.above(20)
    expect(missing).to.deep.equal([])
  })

  it('contains the license text and the copyright of each package', () => {
    for (const { name, text } of sections) {
      const place = `${name}: add its license to scripts/compose-licenses.ts`
      expect(text, place).to.have.length.above(400)
      expect(text, place).to.match(/copyright|\(c\)|©/i)
    }
  })

  it('names the license of each package, all of which are permitted', () => {
    const others = sections.filter(({ license }) => !permitted.includes(license))
    expect(others, 'Use other packages, or add the license to `permitted` in this file').to.deep.equal([])
  })

  it('names the components of jq.wasm', () => {
    const { text = '' } = sections.find(({ name }) => name === 'jq-wasm') ?? {}
    expect(text).to.contain('Stephen Dolan').and.contain('Oniguruma').and.contain('decNumber')
  })
})

describe('the licenses of an executable', () => {
  it('are those of the bundled packages, of the native add-on with its crates, and of Node', () => {
    const addOn = globSync('node_modules/@napi-rs/keyring-*', { cwd: root })[0] ?? ''
    const text = composeExecutableLicenses(root, join(root, addOn), process.versions.node)
    const added = readSections(text).slice(readSections().length)
    expect(added.map(({ name }) => name)).to.deep.equal([addOn.replaceAll('\\', '/').slice(13), 'node'])
    expect(added[0]?.text)
      .to.contain('# Third-party licenses')
      .and.match(/^MIT License/)
    expect(added[1]?.text).to.contain('OpenSSL, located at').and.contain('V8, located at')
  })
})

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

describe('docs/dependencies.md', () => {
  const sections = read('docs/dependencies.md').split(/^## /m)
  const bundled: BundledPackage[] = JSON.parse(read('dist/.packages.json'))
  const inDist = new Set(bundled.map(({ directory }) => directory.replace(/^node_modules\//, '')))
  const development = Object.keys(packageFile.devDependencies)
  const packages = {
    Installed: Object.keys(packageFile.dependencies),
    Bundled: development.filter((name) => inDist.has(name)),
    Development: development.filter((name) => !inDist.has(name)),
    'Test lanes': Object.keys(JSON.parse(read('test/package.json')).devDependencies),
  }

  for (const [title, names] of Object.entries(packages)) {
    it(`says what each package is for: ${title}`, () => {
      const section = sections.find((text) => text.startsWith(`${title}\n`)) ?? ''
      const listed = [...section.matchAll(/^\| ([@\w]\S*) \| \S/gm)].map(([, name = '']) => name)
      const rows = listed.filter((name) => name !== 'package')
      expect(rows, `Correct the table "${title}" of docs/dependencies.md`).to.deep.equal(names)
    })
  }
})
