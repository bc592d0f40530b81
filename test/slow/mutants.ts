import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Node, parseSync, Visitor } from 'oxc-parser'

/**
 * `npm run mutants -- SEED COUNT` measures how strong `npm test` is: it changes one place of src at a time, in a
 * clone of the last commit, and prints a line of JSON for each change: `killed`, with the test that failed, or
 * `survived`. The seed and the text of the lines determine which places are changed, so that a run after a change
 * to the tests changes the same ones. With `--again FILE`, only those that a former run has killed. Linux only.
 */

const root = resolve(import.meta.dirname, '../..')
/** In ms. A mutant that never ends counts as killed. */
const timeout = 600_000

interface Mutant {
  file: string
  line: number
  /** Where the text is replaced, as offsets in the file. */
  start: number
  end: number
  replacement: string
  /** Names the mutant in every run: where it is, and what it replaces. */
  key: string
}

const swapped: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '-': '+',
  '*': '/',
  '&&': '||',
  '||': '&&',
  '??': '&&',
}

/** What may be written instead of a node, as a part of the file. */
function changeOf(node: Node, text: string): { start: number; end: number; replacement: string } | undefined {
  const whole = { start: node.start, end: node.end }
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression': {
      const other = swapped[node.operator]
      if (other === undefined) return undefined
      const start = text.indexOf(node.operator, node.left.end)
      return { start, end: start + node.operator.length, replacement: other }
    }
    case 'IfStatement':
    case 'ConditionalExpression': {
      const { start, end } = node.test
      return { start, end, replacement: `!(${text.slice(start, end)})` }
    }
    case 'UnaryExpression':
      return node.operator === '!'
        ? { ...whole, replacement: text.slice(node.argument.start, node.end) }
        : undefined
    case 'Literal':
      if (typeof node.value === 'boolean') return { ...whole, replacement: String(!node.value) }
      if (typeof node.value === 'number') return { ...whole, replacement: String(node.value + 1) }
      return undefined
    case 'ReturnStatement':
      return node.argument ? { ...whole, replacement: 'return undefined as never' } : undefined
    case 'ExpressionStatement':
      return /^(Await|Call)Expression$/.test(node.expression.type)
        ? { ...whole, replacement: ';' }
        : undefined
    default:
      return undefined
  }
}

function findMutants(file: string): Mutant[] {
  const text = readFileSync(join(root, file), 'utf8')
  const found: Mutant[] = []
  const repeated = new Map<string, number>()
  const add = (node: Node) => {
    const change = changeOf(node, text)
    if (!change || text.slice(change.start, change.end) === change.replacement) return
    const before = text.slice(0, change.start)
    const line =
      text
        .slice(before.lastIndexOf('\n') + 1)
        .split('\n', 1)[0]
        ?.trim() ?? ''
    const place = `${file}: ${line}: ${text.slice(change.start, change.end)} => ${change.replacement}`
    const count = (repeated.get(place) ?? 0) + 1
    repeated.set(place, count)
    found.push({
      file,
      line: before.split('\n').length,
      ...change,
      key: count === 1 ? place : `${place} (${count})`,
    })
  }
  new Visitor({
    BinaryExpression: add,
    LogicalExpression: add,
    IfStatement: add,
    ConditionalExpression: add,
    UnaryExpression: add,
    Literal: add,
    ReturnStatement: add,
    ExpressionStatement: add,
  }).visit(parseSync(file, text).program)
  // Types have literals too.
  return found.filter(({ key }) => !/: (type|interface|export type|export interface|\|) /.test(key))
}

function choose(seed: string, count: number): Mutant[] {
  const order = (key: string) => createHash('sha256').update(`${seed} ${key}`).digest('hex')
  return globSync('src/**/*.ts', { cwd: root })
    .flatMap(findMutants)
    .map((mutant) => ({ mutant, order: order(mutant.key) }))
    .sort((a, b) => (a.order < b.order ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }) => mutant)
}

function run(directory: string, command: string, ...args: string[]): void {
  const { status } = spawnSync(command, args, { cwd: directory, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error(`${command} failed`)
}

/** Tests near a mutant read the build without it. `npm test` builds its own. */
function build(clone: string): void {
  run(clone, 'node', 'scripts/build.ts', '--if-stale')
}

/** A clone of the last commit, with the packages of the checkout as hard links. */
function cloneCheckout(): string {
  const clone = mkdtempSync(join(tmpdir(), 'chatctl-mutants-'))
  run(root, 'git', 'clone', '--quiet', root, clone)
  const link = 'cp -al "$0" "$1" 2> /dev/null || cp -a "$0" "$1"'
  run(root, 'sh', '-c', link, join(root, 'node_modules'), clone)
  build(clone)
  return clone
}

/** What failed first; undefined if nothing did. */
async function firstFailure(clone: string, command: string, args: string[]): Promise<string | undefined> {
  const child = spawn(command, args, { cwd: clone, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const timer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), timeout)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const status = await new Promise((done) => child.on('close', done))
  clearTimeout(timer)
  if (status === 0) return undefined
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const failing = lines.findIndex((line) => /^ +\d+ failing/.test(line))
  const words = failing < 0 ? lines.slice(-6) : lines.slice(failing + 1, failing + 8)
  return words.map((line) => line.trim()).join(' | ')
}

/** The tests of the same directory, or of the nearest one above it that has any. */
function nearestTests(file: string): string {
  let directory = dirname(file).replace('src', 'test')
  while (globSync(`${directory}/**/*.test.ts`, { cwd: root }).length === 0) directory = dirname(directory)
  return `${directory}/**/*.test.ts`
}

/** Tries the tests of the same directory first, because most mutants are killed there. */
async function tryMutant(clone: string, mutant: Mutant): Promise<string | undefined> {
  const path = join(clone, mutant.file)
  const text = readFileSync(path, 'utf8')
  const { atime, mtime } = statSync(path)
  writeFileSync(path, text.slice(0, mutant.start) + mutant.replacement + text.slice(mutant.end))
  const near = ['mocha', '--parallel', '--jobs', '2', '--bail', nearestTests(mutant.file)]
  const first = await firstFailure(clone, 'npx', near)
  const failure = first ?? (await firstFailure(clone, 'npm', ['test', '--', '--bail']))
  writeFileSync(path, text)
  // The build is stale only if `npm test` has built the mutant.
  if (first === undefined) build(clone)
  else utimesSync(path, atime, mtime)
  return failure
}

const [seed = '1', count = '40', flag, former] = process.argv.slice(2)
let mutants = choose(seed, Number(count))
if (flag === '--again' && former !== undefined) {
  const killed = readFileSync(former, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const keys = new Set(killed.filter(({ result }) => result === 'killed').map(({ key }) => key))
  mutants = mutants.filter(({ key }) => keys.has(key))
}
const clone = cloneCheckout()
try {
  const failure = await firstFailure(clone, 'npm', ['test'])
  if (failure !== undefined) throw new Error(`npm test fails without a mutant: ${failure}`)
  for (const mutant of mutants) {
    const failure = await tryMutant(clone, mutant)
    const { file, line, key } = mutant
    const result = failure === undefined ? 'survived' : 'killed'
    process.stdout.write(`${JSON.stringify({ result, file, line, key, failure })}\n`)
  }
} finally {
  rmSync(clone, { recursive: true, force: true })
}
