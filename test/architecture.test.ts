import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { expect } from 'chai'

/** The rules of docs/architecture.md that a test can check. */

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
    // Any other imported file is loaded as text by the build.
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
const inner = [...innermost, 'terminal', 'view', 'config', 'client']

/** The layers that each layer may import, in addition to itself. */
const allowed: Record<string, readonly string[]> = {
  contract: [],
  // All layers throw `Failure`.
  system: ['contract'],
  pages: ['contract'],
  terminal: innermost,
  config: innermost,
  client: innermost,
  ledger: innermost,
  view: [...innermost, 'terminal'],
  run: [...innermost, 'view', 'config', 'client', 'ledger'],
  bulk: [...innermost, 'view', 'config', 'client', 'run', 'ledger'],
  service: [...innermost, 'pages'],
  auth: [...innermost, 'config', 'client', 'pages'],
  chat: [...inner, 'bulk', 'ledger', 'run'],
  settings: [...inner, 'ledger', 'run'],
  users: [...inner, 'bulk', 'ledger', 'run'],
  history: [...inner, 'pages', 'run'],
  cli: [...innermost, 'terminal', 'view', 'config', 'auth', 'run'],
  commands: [...inner, 'cli', 'auth', 'bulk', 'chat', 'settings', 'users', 'history', 'ledger', 'run'],
  boot: [...innermost, 'cli', 'commands', 'auth'],
}

/** The only directory through which the command line reaches these layers, apart from their types. */
const wiring = 'cli/context/'
const wired = ['client', 'service', 'ledger', 'chat', 'settings', 'users', 'history']

const outsideBoot = files.filter((file) => layerOf(file) !== 'boot')

/** A file without its comments, to which the rules do not apply. */
function codeOf(file: string): string {
  return (texts.get(file) ?? '').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

/** Mutable state of a module: a variable, or a collection that is empty at first. */
const stateful =
  /^(export )?(let|var) |^(export )?const (?!.*readonly).*= (\[\]|\{\}|new (Map|Set|WeakMap|WeakSet)(<.*>)?\(\)|new AbortController\(\)|once\()|\bglobalThis\b/m

/** Files whose state may be shared by runs in one process, with the reason. */
const statefulFor: Record<string, string> = {
  'cli/output/jq.ts': 'jq, loaded once: a filter keeps no state in it',
  'service/domain/identifiers.ts': 'identifiers count upwards in the whole process',
  'terminal/editor/graphemes.ts': 'widths of graphemes, which do not depend on the run',
}

/** Files that change the process and restore it before they return, or signal others. */
const changesProcessFor: Record<string, string> = {
  'system/leave-signals-to-system.ts': 'no handler of chatctl while one call blocks the thread',
  'system/run-command.ts': 'kills the process group of a command that it has started',
  'system/sqlite.ts': 'no warning of Node about node:sqlite',
}

/** Direct use of the system clock or of random numbers. */
const usesChance =
  /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bMath\.random\b|\bsystemClock\.monotonic\(/

/** Files outside `boot` that may do so, with the reason why tests need no control over it. */
const usesChanceFor: Record<string, string> = {
  'system/clock.ts': 'the clock of the system',
  'system/files/process-lock.ts': 'waits for another process',
  'system/files/replace-file.ts': 'a name that no other process uses',
  'service/domain/identifiers.ts': 'identifiers count upwards in the whole process',
  'service/oauth/lifetimes.ts': 'oidc-provider reads the clock of the system',
  'service/store/postgres/change-feed.ts': 'changes of other processes are seen within a real second',
  'service/store/sqlite/open-sqlite.ts': 'waits for a database that another process has locked',
  'service/store/sqlite/sqlite-counters.ts': 'waits for a database that another process has locked',
}

/** A view, with the comment before it. */
const declaredView = /((?:^(?:\/\*\*| \*).*\n)*)^export (?:const|function) (\w+View)\b/gm

const rule = 'Follow the title of this test; docs/architecture.md explains the rules'
const exception = 'Move this code, or add the file with its reason to the list in this test'

/** The first word of the command in a file. */
const topicOf = (file: string): string => basename(file.split('/')[1] ?? '', '.ts')

/** The string literals of a source file. */
function stringsOf(text: string): string[] {
  const code = text.replace(/^\s*\/?\*.*$|(^|\s)\/\/ .*$/gm, '')
  return code.match(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? []
}

describe('the architecture', () => {
  it('is checked on the imports that exist', () => {
    expect(imports.length).to.be.above(300)
    expect(imports).to.deep.include({
      from: `${wiring}administration.ts`,
      to: 'service/start-service.ts',
      typeOnly: false,
      dynamic: true,
    })
    for (const { from, to } of imports) expect(texts.has(to), `${from} imports ${to}`).to.equal(true)
  })

  it('lets layers import only inner layers', () => {
    const wrong = imports.filter(({ from, to, typeOnly, dynamic }) => {
      const [layer, target] = [layerOf(from), layerOf(to)]
      if (layer === target || target === 'contract/failure.ts' || (allowed[layer] ?? []).includes(target))
        return false
      return !(
        layer === 'cli' &&
        wired.includes(target) &&
        (typeOnly || (from.startsWith(wiring) && dynamic))
      )
    })
    expect(wrong, rule).to.deep.equal([])
  })

  it('has a rule for every layer', () => {
    const ruleless = [...new Set(files.map(layerOf))].filter((layer) => !(layer in allowed))
    expect(ruleless, 'Add these to `allowed` in this test, and to docs/architecture.md').to.deep.equal([])
  })

  it('loads the service in one directory', () => {
    const entrances = imports.filter(
      ({ from, to }) => layerOf(to) === 'service' && layerOf(from) !== 'service' && !from.startsWith(wiring),
    )
    expect(entrances, rule).to.deep.equal([])
  })

  it('has no circle of imports, types included', () => {
    const circles: string[] = []
    const done = new Set<string>()
    const follow = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' > '))
      if (done.has(file)) return
      done.add(file)
      for (const { from, to } of imports) if (from === file) follow(to, [...path, file])
    }
    for (const file of files) follow(file, [])
    expect(circles, rule).to.deep.equal([])
  })

  it('has at most 20 files directly in a directory', () => {
    const counts = new Map<string, number>()
    for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
    expect(
      [...counts].filter(([, count]) => count > 20),
      'Move files that belong together to a new directory',
    ).to.deep.equal([])
  })

  it('keeps the network out of views and the command line', () => {
    const wrong = files
      .filter((file) => /^(view|cli|contract|config)\//.test(file))
      .filter((file) => /from '(undici|node:https?|node:net|node:tls|node:dns)/.test(texts.get(file) ?? ''))
    expect(wrong, rule).to.deep.equal([])
  })

  it('has the paths of the interface only in contract, client, and service', () => {
    const wrong = files
      .filter((file) => !/^(contract|client|service)\//.test(file))
      // Help examples may show paths.
      .filter((file) =>
        /['"`]\/(v1|api)\//.test(texts.get(file)?.replace(/examples = \[[\s\S]*?\n {2}\]/, '') ?? ''),
      )
    expect(wrong, rule).to.deep.equal([])
  })

  it('reads the process only in boot', () => {
    const uses = /process\.(stdin|stdout|stderr|env|argv|exit|exitCode|cwd)\b|\b(homedir|tmpdir)\(/
    const wrong = outsideBoot.filter((file) => uses.test(codeOf(file)))
    expect(wrong, rule).to.deep.equal([])
  })

  it('changes, signals, and listens to the process only in boot', () => {
    // With signal 0, `kill` only checks whether another process is alive.
    const uses =
      /process\.(on|once|off|\w+Listeners?|emit|emitWarning|abort|chdir|umask|kill)\b(?!\(pid, 0\))/
    const wrong = outsideBoot.filter((file) => uses.test(codeOf(file)) && !(file in changesProcessFor))
    expect(wrong, exception).to.deep.equal([])
    for (const file of Object.keys(changesProcessFor)) expect(codeOf(file), file).to.match(uses)
  })

  it('takes time and randomness from the clock of the host', () => {
    const wrong = outsideBoot.filter((file) => usesChance.test(codeOf(file)) && !(file in usesChanceFor))
    expect(wrong, exception).to.deep.equal([])
    for (const file of Object.keys(usesChanceFor)) expect(codeOf(file), file).to.match(usesChance)
  })

  it('names flags and commands only in the outer layers, and where they speak to a person', () => {
    const topics = [...new Set(files.filter((file) => file.startsWith('commands/')).map(topicOf))].join('|')
    const names = new RegExp(`(^|[\\s'"\`])--[a-z][a-z-]+(?![\\w-]*:)|\\bchatctl (${topics})\\b`, 'm')
    const edge = ['boot', 'commands', 'cli', 'view', 'users', 'bulk', 'settings', 'chat', 'auth', 'config']
    const exempt = [
      // The page that a browser shows at the address of the service.
      'service/http/public/status-page.ts',
      // The title of a JSON schema.
      'contract/resources/settings-file.ts',
    ]
    const found = files
      .filter((file) => !edge.includes(layerOf(file)))
      .filter((file) => stringsOf(texts.get(file) ?? '').some((text) => names.test(text)))
    expect(found, exception).to.have.members(exempt)
  })

  it('names the commands that share a view where the view is declared', () => {
    const commands = files.filter(
      (file) => file.startsWith('commands/') && texts.get(file)?.includes('static override summary'),
    )
    const unnamed = files
      .filter((file) => file.startsWith('view/'))
      .flatMap((file) =>
        [...(texts.get(file) ?? '').matchAll(declaredView)].map((found) => ({ file, found })),
      )
      .flatMap(({ file, found: [, comment = '', view = ''] }) => {
        const users = commands.filter((command) => new RegExp(`\\b${view}\\b`).test(codeOf(command)))
        const names = users.map(
          (command) => `\`${command.slice('commands/'.length, -3).replaceAll('/', ' ')}\``,
        )
        return names.length < 2
          ? []
          : names
              .filter((name) => !comment.includes(name))
              .map((name) => `src/${file}: add ${name} to the comment of ${view}`)
      })
    expect(unnamed).to.deep.equal([])
  })

  it('keeps no state in a module', () => {
    const wrong = outsideBoot.filter((file) => stateful.test(codeOf(file)) && !(file in statefulFor))
    expect(wrong, exception).to.deep.equal([])
    for (const file of Object.keys(statefulFor)) expect(codeOf(file), file).to.match(stateful)
  })

  it('never writes to the console', () => {
    const wrong = files.filter((file) => /\bconsole\.(?!error)/.test(codeOf(file)))
    expect(wrong, rule).to.deep.equal([])
  })

  it('writes HTML documents, escapes, and policies in one place', () => {
    const wrong = files
      .filter((file) => !file.startsWith('pages/'))
      .filter((file) => /<!doctype html>\n|<\/head>|&lt;|default-src/.test(texts.get(file) ?? ''))
    expect(wrong, rule).to.deep.equal([])
  })

  it('names files in kebab case, without catch-all names such as utils', () => {
    const wrong = files.filter((file) => {
      const name = basename(file)
      return (
        !/^(\d{4}-)?[a-z][a-z0-9]*(-[a-z0-9]+)*(\.d)?\.ts$/.test(name) ||
        /\b(utils?|helpers?|common|manager|misc|shared)\.ts$/.test(name)
      )
    })
    expect(wrong, rule).to.deep.equal([])
  })

  it('limits every source file to 300 lines', () => {
    const wrong = files.filter((file) => (texts.get(file) ?? '').split('\n').length > 300)
    expect(wrong, rule).to.deep.equal([])
  })

  it('exports from each file only what that file defines', () => {
    const wrong = files.filter((file) =>
      /^export\s+(type\s+)?(\*|\{[^}]*\}\s*from)/m.test(texts.get(file) ?? ''),
    )
    expect(wrong, rule).to.deep.equal([])
  })
})
