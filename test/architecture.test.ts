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

/** The top-level directory of a file below src; empty for a file that lies in src itself. */
function layerOf(file: string): string {
  return file.includes('/') ? (file.split('/')[0] ?? '') : ''
}

const innermost = ['contract', 'system']
const inner = [...innermost, 'terminal', 'view', 'config', 'credentials', 'client']

/** What each layer may import at run time, besides itself. Arrows point inward. */
const allowed: Record<string, readonly string[]> = {
  contract: [],
  // Everything throws `Failure`.
  system: ['contract'],
  pages: ['contract'],
  terminal: innermost,
  view: [...innermost, 'terminal'],
  config: innermost,
  credentials: [...innermost, 'config'],
  client: innermost,
  service: [...innermost, 'pages'],
  auth: [...innermost, 'config', 'credentials', 'client', 'pages'],
  talk: inner,
  plan: inner,
  bulk: inner,
  export: [...inner, 'pages'],
  cli: [...innermost, 'terminal', 'view', 'config', 'credentials'],
  commands: [...inner, 'cli', 'talk', 'plan', 'bulk', 'export', 'auth'],
  boot: [...innermost, 'cli', 'commands', 'credentials', 'auth'],
}

/** The file that wires everything, and so the only way from the command line to these layers. */
const wiring = 'cli/create-context.ts'
/** The types of what it wires. */
const wiredTypes = 'cli/context.ts'
const wired = ['client', 'service', 'auth', 'talk', 'plan', 'bulk', 'export']

const outsideBoot = files.filter((file) => layerOf(file) !== 'boot')

/** A file without its comments, which may speak of anything. */
function codeOf(file: string): string {
  return (texts.get(file) ?? '').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

/** What a module holds that can change: a variable, or an empty collection, which is there to be filled. */
const stateful =
  /^(export )?(let|var) |^(export )?const (?!.*readonly).*= (\[\]|\{\}|new (Map|Set|WeakMap|WeakSet)(<.*>)?\(\)|new AbortController\(\)|once\()|\bglobalThis\b/m

/** State that two runs in one process may share, and why. */
const statefulFor: Record<string, string> = {
  'cli/output/jq.ts': 'jq, loaded once: a filter leaves nothing in it',
  'service/domain/identifiers.ts': 'identifiers count upwards in the whole process',
  'terminal/editor/graphemes.ts': 'widths of graphemes, which are the same for everybody',
}

/** What changes the process, and changes it back before it returns. */
const changesProcessFor: Record<string, string> = {
  'system/leave-signals-to-system.ts': 'no handler of ours while one call blocks the thread',
  'system/load-sqlite.ts': 'no warning of Node about node:sqlite',
}

/** What reads the system's clock, or chance, itself. */
const usesChance = /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bMath\.random\b/

/** Files that do, besides `boot`, and why a test does not want to control it. */
const usesChanceFor: Record<string, string> = {
  'system/clock.ts': 'the clock of the system',
  'system/process-lock.ts': 'waits for another process',
  'system/replace-file.ts': 'a name that no other process uses',
  'bulk/input/spool.ts': 'a name that no other process uses',
  'client/probe-network.ts': 'measures a real connection',
  'service/domain/identifiers.ts': 'identifiers count upwards in the whole process',
  'service/oauth/lifetimes.ts': 'oidc-provider reads the clock of the system',
  'service/store/postgres/change-feed.ts': 'changes of other processes are seen within a real second',
  'service/store/sqlite/group-commit.ts': 'waits for a database that another process has locked',
  'service/store/sqlite/open-sqlite.ts': 'waits for a database that another process has locked',
  'service/store/sqlite/sqlite-counters.ts': 'waits for a database that another process has locked',
}

/** Layers whose types the command line may use. */
const spokenOf = ['client', 'plan', 'bulk']

/** The first word of a command. */
const topicOf = (file: string): string => basename(file.split('/')[1] ?? '', '.ts')

/** What a source file has in quotes, without comments. */
function stringsOf(text: string): string[] {
  const code = text.replace(/^\s*\/?\*.*$|(^|\s)\/\/ .*$/gm, '')
  return code.match(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? []
}

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
      if (layer === target || target === 'contract/failure.ts' || (allowed[layer] ?? []).includes(target))
        return false
      if (from === wiredTypes && wired.includes(target)) return !typeOnly
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
    expect(new Set(entrances.map(({ from }) => from))).to.deep.equal(new Set([wiring, wiredTypes]))
  })

  it('lets nothing but the entry know the commands', () => {
    const users = imports.filter(({ from, to }) => layerOf(to) === 'commands' && from !== 'boot/main.ts')
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

  it('looks at the process nowhere but in boot', () => {
    const uses = /process\.(stdin|stdout|stderr|env|argv|exit|exitCode|cwd)\b|\b(homedir|tmpdir)\(/
    const wrong = outsideBoot.filter((file) => uses.test(codeOf(file)))
    expect(wrong).to.deep.equal([])
  })

  it('changes, signals, and listens to the process nowhere but in boot', () => {
    // With 0 as the signal, `kill` only asks whether another process is alive.
    const uses =
      /process\.(on|once|off|\w+Listeners?|emit|emitWarning|abort|chdir|umask|kill)\b(?!\(pid, 0\))/
    const wrong = outsideBoot.filter((file) => uses.test(codeOf(file)) && !(file in changesProcessFor))
    expect(wrong).to.deep.equal([])
    for (const file of Object.keys(changesProcessFor)) expect(codeOf(file), file).to.match(uses)
  })

  it('takes the time and chance from the clock of the host', () => {
    const wrong = outsideBoot.filter((file) => usesChance.test(codeOf(file)) && !(file in usesChanceFor))
    expect(wrong).to.deep.equal([])
    for (const file of Object.keys(usesChanceFor)) expect(codeOf(file), file).to.match(usesChance)
  })

  it('names flags and commands on the command line alone', () => {
    const topics = [...new Set(files.filter((file) => file.startsWith('commands/')).map(topicOf))].join('|')
    const names = new RegExp(`(^|[\\s'"\`])--[a-z][a-z-]+(?![\\w-]*:)|\\bchatctl (${topics})\\b`, 'm')
    const edge = ['boot', 'commands', 'cli', 'view']
    const exempt = [
      // A page for people about what answers at an address.
      'service/http/open/status-page.ts',
      // Flags of V8.
      'system/bound-heap.ts',
      // A text of results files, which scripts read.
      'bulk/results/row-result.ts',
      // The title of a JSON schema.
      'contract/settings-file.ts',
    ]
    const wrong = files
      .filter((file) => !edge.includes(layerOf(file)) && !exempt.includes(file))
      .filter((file) => stringsOf(texts.get(file) ?? '').some((text) => names.test(text)))
    expect(wrong).to.deep.equal([])
  })

  it('keeps no state of a module', () => {
    const wrong = outsideBoot.filter((file) => stateful.test(codeOf(file)) && !(file in statefulFor))
    expect(wrong).to.deep.equal([])
    for (const file of Object.keys(statefulFor)) expect(codeOf(file), file).to.match(stateful)
  })

  it('writes to the console nowhere', () => {
    const wrong = files.filter((file) => /\bconsole\.(?!error)/.test(codeOf(file)))
    expect(wrong).to.deep.equal([])
  })

  it('writes HTML documents, escapes and policies in one place', () => {
    const wrong = files
      .filter((file) => !file.startsWith('pages/'))
      .filter((file) => /<!doctype html>\n|<\/head>|&lt;|default-src/.test(texts.get(file) ?? ''))
    expect(wrong).to.deep.equal([])
  })

  it('names every file exactly, in kebab case', () => {
    const wrong = files.filter((file) => {
      const name = basename(file)
      return (
        !/^(\d{4}-)?[a-z][a-z0-9]*(-[a-z0-9]+)*(\.d)?\.ts$/.test(name) ||
        /\b(utils?|helpers?|common|manager|misc|shared)\.ts$/.test(name)
      )
    })
    expect(wrong).to.deep.equal([])
  })

  it('keeps every file short enough to read at once', () => {
    const wrong = files.filter((file) => (texts.get(file) ?? '').split('\n').length > 300)
    expect(wrong).to.deep.equal([])
  })

  it('exports from each file only what that file makes', () => {
    const wrong = files.filter((file) =>
      /^export\s+(type\s+)?(\*|\{[^}]*\}\s*from)/m.test(texts.get(file) ?? ''),
    )
    expect(wrong).to.deep.equal([])
  })
})
