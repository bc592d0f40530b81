import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { expect } from 'chai'

/** docs/architecture.md, as far as a machine can see to it. */

const root = resolve(import.meta.dirname, '..')
const source = join(root, 'src')

interface Import {
  /** Path of the importing file below src. */
  from: string
  /** Path of the imported file below src. */
  to: string
  typeOnly: boolean
  dynamic: boolean
}

const files = globSync('**/*.ts', { cwd: source }).map((path) => path.replaceAll('\\', '/'))
const texts = new Map(files.map((file) => [file, readFileSync(join(source, file), 'utf8')]))
const imports = files.flatMap(readImports)

function readImports(from: string): Import[] {
  const text = texts.get(from) ?? ''
  const found: Import[] = []
  const add = (target: string | undefined, typeOnly: boolean, dynamic: boolean): void => {
    // What is no module is a text to the build.
    if (!target?.startsWith('.') || !target.endsWith('.ts')) return
    const to = join(dirname(from), target).replaceAll('\\', '/')
    found.push({ from, to, typeOnly, dynamic })
  }
  for (const [, type, names = '', target] of text.matchAll(
    /^import\s+(type\s)?([^'"]*?)\s*(?:from\s+)?['"]([^'"]+)['"]/gm,
  )) {
    const braces = /^\{(.*)\}$/s.exec(names)?.[1]
    const allTypes = braces?.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '))
    add(target, type !== undefined || allTypes === true, false)
  }
  for (const [, target] of text.matchAll(/\b(?:import|require)\(\s*['"`]([^'"`]+)['"`]\s*\)/g)) {
    add(target, false, true)
  }
  return found
}

/** The folder of a file below src; a file that lies in src itself is its own layer. */
function layerOf(file: string): string {
  return file.includes('/') ? (file.split('/')[0] ?? '') : file
}

/**
 * What each layer may import at run time, besides itself and `failure.ts`, which all may.
 * Arrows point inward: what is inside never knows what is outside.
 */
const allowed: Record<string, readonly string[]> = {
  contract: [],
  system: ['system-words.ts'],
  config: ['contract', 'system', 'system-words.ts'],
  credentials: ['contract', 'config', 'system', 'end-process.ts', 'process-lock.ts', 'system-words.ts'],
  client: ['contract'],
  view: ['contract'],
  service: [
    'contract',
    'system',
    'load-sqlite.ts',
    'nearest.ts',
    'page-style.ts',
    'sync-folder.ts',
    'system-words.ts',
  ],
  auth: ['contract', 'config', 'credentials', 'client', 'page-style.ts', 'system-words.ts'],
  talk: [
    'contract',
    'config',
    'credentials',
    'client',
    'view',
    'system',
    'edit-outside.ts',
    'process-lock.ts',
    'sync-folder.ts',
    'system-words.ts',
  ],
  plan: [
    'contract',
    'config',
    'credentials',
    'client',
    'view',
    'system',
    'document-file.ts',
    'nearest.ts',
    'process-lock.ts',
    'sync-folder.ts',
    'system-words.ts',
  ],
  bulk: [
    'contract',
    'config',
    'credentials',
    'client',
    'view',
    'system',
    'document-file.ts',
    'end-process.ts',
    'keep-heap-small.ts',
    'nearest.ts',
    'process-lock.ts',
    'sync-folder.ts',
    'system-words.ts',
  ],
  export: [
    'contract',
    'config',
    'credentials',
    'client',
    'view',
    'system',
    'document-file.ts',
    'keep-heap-small.ts',
    'system-words.ts',
  ],
  cli: [
    'contract',
    'config',
    'credentials',
    'system',
    'view',
    'edit-outside.ts',
    'end-process.ts',
    'nearest.ts',
    'system-words.ts',
  ],
  commands: [
    'cli',
    'talk',
    'plan',
    'bulk',
    'export',
    'auth',
    'client',
    'credentials',
    'config',
    'view',
    'contract',
    'system',
    'edit-outside.ts',
    'system-words.ts',
  ],
  'failure.ts': [],
  'nearest.ts': [],
  'system-words.ts': [],
  'document-file.ts': ['sync-folder.ts', 'system-words.ts'],
  'sync-folder.ts': [],
  'edit-outside.ts': ['system-words.ts'],
  'end-process.ts': [],
  'keep-heap-small.ts': [],
  'load-sqlite.ts': [],
  'page-style.ts': [],
  'process-lock.ts': ['load-sqlite.ts'],
  'start.ts': ['load-bundle.ts', 'main.ts'],
  'load-bundle.ts': ['config', 'system'],
  'main.ts': ['cli', 'commands', 'end-process.ts'],
}

/** The one file that wires everything, and so the one way from the command line to these layers. */
const wiring = 'cli/create-context.ts'
const wired = ['client', 'service', 'auth', 'talk', 'plan', 'bulk', 'export']

/** Layers whose types the command line may use. */
const spokenOf = ['client', 'plan', 'bulk']

describe('architecture', () => {
  it('sees the imports', () => {
    expect(imports.length).to.be.above(300)
    expect(imports).to.deep.include({
      from: wiring,
      to: 'service/start-service.ts',
      typeOnly: false,
      dynamic: true,
    })
    for (const { from, to } of imports) expect(texts.has(to), `${from} imports ${to}`).to.equal(true)
  })

  it('has arrows that point inward only', () => {
    const wrong = imports.filter(({ from, to, typeOnly, dynamic }) => {
      const [layer, target] = [layerOf(from), layerOf(to)]
      if (layer === target || target === 'failure.ts' || (allowed[layer] ?? []).includes(target)) return false
      if (from === wiring && wired.includes(target)) return !(dynamic || typeOnly)
      // The command line may speak of what the inner layers do without knowing how it is done.
      return !(layer === 'cli' && spokenOf.includes(target) && typeOnly)
    })
    expect(wrong).to.deep.equal([])
  })

  it('has a rule for every layer', () => {
    expect([...new Set(files.map(layerOf))].filter((layer) => !(layer in allowed))).to.deep.equal([])
  })

  it('loads the service in one place, and only when it is needed', () => {
    const entrances = imports.filter(
      ({ from, to }) => layerOf(to) === 'service' && layerOf(from) !== 'service',
    )
    expect(new Set(entrances.map(({ from }) => from))).to.deep.equal(new Set([wiring]))
  })

  it('lets nothing but the entry know the commands', () => {
    const users = imports.filter(({ from, to }) => layerOf(to) === 'commands' && from !== 'main.ts')
    expect(users).to.deep.equal([])
  })

  it('keeps the network out of views and the command line', () => {
    const wrong = files
      .filter((file) => /^(view|cli|contract|config)\//.test(file))
      .filter((file) => /from '(undici|node:https?|node:net|node:tls|node:dns)/.test(texts.get(file) ?? ''))
    expect(wrong).to.deep.equal([])
  })

  it('knows the interface in one place: no path of it outside contract, client and service', () => {
    const wrong = files
      .filter((file) => !/^(contract|client|service)\//.test(file))
      // Examples in help texts are for people.
      .filter((file) =>
        /['"`]\/(v1|api)\//.test(texts.get(file)?.replace(/examples = \[[\s\S]*?\n {2}\]/, '') ?? ''),
      )
    expect(wrong).to.deep.equal([])
  })

  it('writes to stdout and stderr in one place', () => {
    const wrong = files.filter((file) => /process\.std(out|err)\.write|console\./.test(texts.get(file) ?? ''))
    expect(wrong).to.deep.equal(['cli/output/streams.ts'])
  })

  it('ends the process in one place', () => {
    const wrong = files.filter((file) => /process\.exit\(/.test(texts.get(file) ?? ''))
    expect(wrong.sort()).to.deep.equal(['end-process.ts'])
  })

  for (const file of files) {
    describe(file, () => {
      it('has an exact name in kebab case', () => {
        expect(basename(file)).to.match(/^(\d{4}-)?[a-z][a-z0-9]*(-[a-z0-9]+)*(\.d)?\.ts$/)
        expect(basename(file)).not.to.match(/\b(utils?|helpers?|common|manager|misc|shared)\.ts$/)
      })

      it('is of a length that can be read at once', () => {
        expect(texts.get(file)?.split('\n').length).to.be.at.most(250)
      })

      it('exports only what it makes itself', () => {
        expect(texts.get(file)).not.to.match(/^export\s+(type\s+)?(\*|\{[^}]*\}\s*from)/m)
      })
    })
  }
})
