import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import stringWidth from 'string-width'
import { commandOf } from '../../support/command-lines.ts'
import { answersInJson, type Call } from './calls.ts'
import type { Form } from './forms.ts'
import { canary, canaryPassword } from './prepared-home.ts'
import { processesOf, type World, type WorldRun } from './world.ts'

/** What holds for every run, whatever it was told to do and whatever failed. */

/** The exit codes of docs/exit-codes.md. */
const documented = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 69, 75, 129, 130, 131, 143]

/** The run of a call in one form, with the world in which it ran. */
export interface Ran {
  call: Call
  form: Form
  world: World
  run: WorldRun
}

export function expectGoodManners(ran: Ran): void {
  const { run, form } = ran
  const said = `${run.stdout}\n${run.stderr}`
  expect(run.hung, `it hangs; ${said}`).to.equal(false)
  // The code of `exec` is that of the program.
  if (run.signal === null && commandOf(ran.call.name) !== 'exec')
    expect(documented, said).to.include(run.exitCode)
  expect(said, 'a stack').not.to.match(/^\s+at .+:\d+:\d+\)?\r?$|^node:|Node\.js v\d/m)
  expect(said, 'a bug').not.to.match(/bug in chatctl|\[object Object\]|\bundefined\b|\bNaN\b/)
  expectSecretsKept(ran, said)
  if (form !== 'terminal' && asksForJson(ran.call, form)) expectJson(ran)
  else if (!asksForJson(ran.call, form)) expectWords(ran)
  if (form === 'terminal') expectTableFits(ran)
  else expect(run.stderr, 'a command of a CI log').not.to.match(/^\s*::|##\w*\[/m)
  if (form === 'pipe' && !ran.world.env['FORCE_COLOR']) expect(said).not.to.contain('\u001b')
}

/** Minimum supported width, in columns: a name and a value side by side. */
const narrowest = 20

/**
 * A table, which begins with a bold header, is at most as wide as the terminal. Otherwise its lines would
 * wrap.
 */
function expectTableFits({ call, run, world }: Ran): void {
  // The checks of `doctor` are not a table.
  if (reportsWhatFailed(call)) return
  const columns = Math.max(world.columns || 80, narrowest)
  const lines = run.stdout.split(/\r*\n/)
  const from = lines.findIndex((line) => line.startsWith('\u001b[1m'))
  if (from === -1) return
  for (const line of lines.slice(from).map(stripVTControlCharacters)) {
    // The terminal wraps prose, and a secret or a path is a single word.
    if (
      /^(Error|Hint|Warning|Request ID|[\w ]+ \(shown only once\)): |(POST|PATCH) http|The service did not return|^\/\S+$|^\(?\d{4}-\d\d-\d\dT[\d:.]+Z\)?$/.test(
        line,
      )
    )
      break
    expect(stringWidth(line), `"${line}" is wider than ${columns}`).to.be.at.most(columns)
  }
}

function expectSecretsKept({ call, world }: Ran, said: string): void {
  if (commandOf(call.name) !== 'auth:token') expect(said, 'the key').not.to.contain(canary)
  expect(said, 'the password').not.to.contain(canaryPassword)
  for (const file of filesOf(world)) {
    if (/^(home|disk)\/\.local\/share\/chatctl\/credentials\/|^here\/password\.txt$/.test(file)) continue
    // Some worlds have a file that cannot be read.
    const path = join(world.root, file)
    if ((statSync(path).mode & 0o400) === 0) continue
    const bytes = readFileSync(path)
    for (const secret of [canary, canaryPassword])
      expect(bytes.includes(secret), `${file} has a secret`).to.equal(false)
  }
}

function expectJson({ call, run: { exitCode, stdout, stderr }, world }: Ran): void {
  // A shell that starts an editor writes messages as well.
  const ours = stderr.split('\n').filter((line) => line !== '' && !/^(\/bin\/)?sh: /.test(line))
  const lines = ours.map(readSaid)
  const errors = lines.filter((line) => 'error' in line)
  if (exitCode === 0 || exitCode === 10) {
    expect(errors, 'an error of a success').to.deep.equal([])
    const isWhole = world.reader === 'reads all' && !/>/.test(world.redirections)
    // `--jq` prints a string without quotation marks.
    if (isWhole && answersInJson(call) && !call.args.includes('--jq')) expectReadable(stdout)
    return
  }
  if (exitCode === null || exitCode > 128) return
  // If `doctor` cannot start, it fails like any other command.
  if (reportsWhatFailed(call) && stdout !== '') {
    expectReadable(stdout)
    return
  }
  // stderr may be closed.
  if (!/2>/.test(world.redirections)) expect(errors, stderr).to.have.lengthOf(1)
  const [{ error } = { error: undefined }] = errors
  if (error) {
    expect(error.code).to.match(/^[a-z]+(_[a-z0-9]+)*$/)
    expect(error.message).to.match(/\S/)
  }
  if (exitCode !== 8 && !keepsWhatCame(call)) expect(stdout, 'stdout of a failure').to.equal('')
}

/** Whether the form or the arguments ask for JSON. */
function asksForJson({ name, args }: Call, form: Form): boolean {
  if (form === 'JSON' && !['autocomplete', 'complete'].includes(commandOf(name))) return true
  return args.some(
    (word, at) => word === '--jq' || word === '--json' || (word === '--output' && args[at + 1] === 'json'),
  )
}

interface Said {
  error?: { code: string; message: string }
}

function readSaid(line: string): Said {
  const said = JSON.parse(line)
  // A log line of a running service.
  if (typeof said.level === 'number') return {}
  expect(Object.keys(said), line).to.have.lengthOf(1)
  expect(Object.keys(said)[0]).to.be.oneOf(['error', 'warning', 'notice'])
  return said
}

/** One JSON value, or one on each line. */
function expectReadable(stdout: string): void {
  try {
    JSON.parse(stdout)
  } catch {
    for (const line of stdout.split('\n').filter(Boolean)) JSON.parse(line)
    expect(stdout, 'stdout').to.match(/\S/)
  }
}

function expectWords({ call, form, run: { exitCode, stdout, stderr }, world }: Ran): void {
  if (exitCode === null || exitCode === 0 || exitCode === 10 || exitCode > 128) return
  const said = form === 'terminal' ? stdout : stderr
  if (reportsWhatFailed(call) || /2>/.test(world.redirections)) return
  // A terminal wraps the message before a word that is longer than a line, such as a path.
  const error = form === 'terminal' ? /^Error:\s+\S/gm : /^Error: \S/gm
  expect(stripVTControlCharacters(said).match(error), said).to.have.lengthOf(1)
  if (form === 'pipe' && exitCode !== 8 && !keepsWhatCame(call))
    expect(stdout, 'stdout of a failure').to.equal('')
}

/** `doctor` prints the failures it finds as its result. */
function reportsWhatFailed({ name }: Call): boolean {
  return commandOf(name) === 'doctor'
}

/** Data that arrived, error bodies included, and changes that were made are printed even if the rest failed: docs/exit-codes.md. */
function keepsWhatCame({ name, args }: Call): boolean {
  return (
    args.includes('roles.csv') ||
    args.includes('--each') ||
    /^(api|users:adopt|users:apply|users:get|users:import|chat:send streamed|auth:logout|service:run|service:users:offboard)/.test(
      name,
    )
  )
}

/**
 * Checks that TMPDIR is as empty as before, and that no partial file, no file outside the home
 * directory, and no process is left.
 */
export async function expectNothingLeft({ world }: Ran, before: ReadonlySet<string>): Promise<void> {
  for (let wait = 0; processesOf(world).length > 0 && wait < 2_000; wait += 50) await sleep(50)
  expect(processesOf(world), 'processes').to.deep.equal([])
  const left = filesOf(world).filter((file) => !before.has(file) && !isOurs(file))
  expect(left, 'files').to.deep.equal([])
}

/**
 * Files that a run may leave: in the home directory, those that docs and paths.ts name; in the working
 * directory, those that it was told to write.
 */
function isOurs(file: string): boolean {
  return [
    /^home\/\.config\/chatctl\/(config\.json|prompts\/review\.md)$/,
    /^home\/\.local\/share\/chatctl\/chatctl\.db(-wal|-shm)?$/,
    /^home\/\.local\/share\/chatctl\/before-restore-[\w-]+\.db$/,
    /^home\/\.local\/share\/chatctl\/credentials\/[0-9a-f]{64}\.json(\.lock)?$/,
    /^home\/\.local\/share\/chatctl\/(sessions|imports|plans|mirrors)\//,
    /^home\/\.local\/share\/chatctl\/[\w.-]+\.lock$/,
    /^home\/\.local\/state\/chatctl\//,
    /^home\/\.cache\/chatctl\//,
    // A second signal ends the run with a journal, or while it replaces the state file. A run whose output is not read
    // ends with its lock, which blocks no other.
    /^here\/(users|team)\.state\.json(\.backup|\.journal|\.lock)?$/,
    /^here\/\.(users|team)\.state\.json\.[\w-]+\.part$/,
    /^here\/(new\.db|(history|settings|user)\.(json|pdf)|results\.csv|plan\.json|replies\.jsonl)$/,
    /^here\/new-data\/chatctl\.db(-wal|-shm)?$/,
  ].some((name) => name.test(file))
}

/** Paths of all files of a world, relative to its root. */
export function filesOf({ root }: World): string[] {
  const list = (directory: string): string[] =>
    readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
      const path = directory === '' ? entry.name : `${directory}/${entry.name}`
      if (path === 'stdin') return []
      return entry.isDirectory() ? list(path) : entry.isFile() ? [path] : []
    })
  return list('')
}
