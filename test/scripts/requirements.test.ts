import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import { build, type Plugin } from 'esbuild'
import { packageFile, root } from './package-file.ts'

/** The packages that dist asks for when it runs, found by reading it as code. */
async function findAsked(): Promise<Map<string, Set<string>>> {
  const asked = new Map<string, Set<string>>()
  const files = globSync('dist/*.cjs', { cwd: root }).map((file) => join(root, file))
  const note: Plugin = {
    name: 'note-what-is-asked-for',
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /./ }, ({ kind, path, importer }) => {
        if (kind === 'entry-point') return { path }
        if (!path.startsWith('./') && !isBuiltin(path)) {
          asked.set(path, (asked.get(path) ?? new Set()).add(importer))
        }
        return { path, external: true }
      })
      onLoad({ filter: /\.cjs$/ }, ({ path }) => ({ contents: unwrap(readFileSync(path, 'latin1')) }))
    },
  }
  // They run in modern Node; here it is only a parser.
  await build({
    entryPoints: files,
    bundle: true,
    write: false,
    outdir: 'nowhere',
    platform: 'node',
    plugins: [note],
    logLevel: 'error',
    logOverride: { 'require-resolve-not-external': 'silent' },
  })
  return asked
}

/** Without the function around it, of which `require` is a parameter and so says nothing to a bundler. */
function unwrap(text: string): string {
  return text.replace(/^\(function \(exports, require.*\n/, '').replace(/\n\}\)\n?$/, '')
}

describe('what an installation needs', () => {
  it('is asked for by dist, and nothing else is', async () => {
    expect([...(await findAsked()).keys()].sort()).to.deep.equal(Object.keys(packageFile.dependencies).sort())
  })

  it('runs no script when it is installed, neither ours nor that of a package', () => {
    const run = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare']
    expect(packageFile.scripts).not.to.have.any.keys(run)
    const brought = lockedPackages().filter(([, { dev }]) => !dev)
    expect(brought.map(([name]) => name)).to.include.members(Object.keys(packageFile.dependencies))
    expect(brought.filter(([, { hasInstallScript }]) => hasInstallScript)).to.deep.equal([])
  })

  it('is what the lock file has for it: each with its hash, or only for another system', () => {
    for (const [name, { integrity, optional, resolved }] of lockedPackages()) {
      if (!optional) expect(integrity, name).to.match(/^sha512-/)
      expect(resolved, name).to.equal(undefined)
    }
  })
})

interface Locked {
  dev?: boolean
  optional?: boolean
  integrity?: string
  resolved?: string
  hasInstallScript?: boolean
}

/** By name; what lies inside of another package by its whole path. */
function lockedPackages(): [string, Locked][] {
  const lock: { packages: Record<string, Locked> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  )
  return Object.entries(lock.packages)
    .filter(([path]) => path !== '')
    .map(([path, entry]) => [path.replace('node_modules/', ''), entry])
}
