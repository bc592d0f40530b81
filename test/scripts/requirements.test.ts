import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import { packageFile, root } from './package-file.ts'

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
