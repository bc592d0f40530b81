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

/** What holds for every run, whatever was asked for and whatever went wrong. */

/** docs/exit-codes.md. */
const documented = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 69, 75, 129, 130, 143]

/** The run of a call in one form, and the world that it was in. */
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
  if (run.signal === null) expect(documented, said).to.include(run.exitCode)
  if (!ran.call.args.some((word) => word.startsWith('--debug')))
    expect(said, 'a stack').not.to.match(/^\s+at .+:\d+:\d+\)?\r?$|^node:|Node\.js v\d/m)
  expect(said, 'a bug').not.to.match(/bug in chatctl|\[object Object\]|\bundefined\b|\bNaN\b/)
  expectSecretsKept(ran, said)
  if (form !== 'terminal' && asksForJson(ran.call, form)) expectJson(ran)
  else if (!asksForJson(ran.call, form)) expectWords(ran)
  if (form === 'terminal') expectTableFits(ran)
  if (form === 'pipe' && !ran.world.env['FORCE_COLOR']) expect(said).not.to.contain('\u001b')
}

/** The least width that is looked after: a name and a value beside each other. */
const narrowest = 20

/** A table, which a bold line of titles begins, is no wider than the terminal: it would break into pieces. */
function expectTableFits({ call, run, world }: Ran): void {
  // Its marks and words are no table.
  if (reportsWhatFailed(call)) return
  const columns = Math.max(world.columns || 80, narrowest)
  const lines = run.stdout.split(/\r*\n/)
  const from = lines.findIndex((line) => line.startsWith('\u001b[1m'))
  if (from === -1) return
  for (const line of lines.slice(from).map(stripVTControlCharacters)) {
    // Words are the terminal's to break, and a secret is one word.
    if (/^(Error|Hint|Warning|Request|[\w ]+, shown this once): |The service did not return/.test(line)) break
    expect(stringWidth(line), `"${line}" is wider than ${columns}`).to.be.at.most(columns)
  }
}

function expectSecretsKept({ call, world }: Ran, said: string): void {
  if (commandOf(call.name) !== 'auth:token') expect(said, 'the key').not.to.contain(canary)
  expect(said, 'the password').not.to.contain(canaryPassword)
  for (const file of filesOf(world)) {
    if (/^(home|disk)\/\.local\/share\/chatctl\/credentials\/|^here\/password\.txt$/.test(file)) continue
    // Some worlds have a file that nobody may read.
    const path = join(world.root, file)
    if ((statSync(path).mode & 0o400) === 0) continue
    const bytes = readFileSync(path)
    for (const secret of [canary, canaryPassword])
      expect(bytes.includes(secret), `${file} has a secret`).to.equal(false)
  }
}

function expectJson({ call, run: { exitCode, stdout, stderr }, world }: Ran): void {
  // A shell that starts an editor has words of its own.
  const ours = stderr.split('\n').filter((line) => line !== '' && !/^(\/bin\/)?sh: /.test(line))
  const lines = ours.map(readSaid)
  const errors = lines.filter((line) => 'error' in line)
  if (exitCode === 0 || exitCode === 10) {
    expect(errors, 'an error of a success').to.deep.equal([])
    const isWhole = world.reader === 'reads all' && !/>/.test(world.redirections)
    // A text that jq gives is bare.
    if (isWhole && answersInJson(call) && !call.args.includes('--jq')) expectReadable(stdout)
    return
  }
  if (exitCode === null || exitCode > 128) return
  // What it cannot begin with is an error like any other.
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
  if (!keepsWhatCame(call)) expect(stdout, 'stdout of a failure').to.equal('')
}

/** Whether its words ask for JSON: those of the form, or its own. */
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
  // The log of a service that runs.
  if (typeof said.level === 'number') return {}
  expect(Object.keys(said), line).to.have.lengthOf(1)
  expect(Object.keys(said)[0]).to.be.oneOf(['error', 'warning', 'notice'])
  return said
}

/** One value, or one a line. */
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
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
  const errors = said.replace(/\u001b\[\d+m/g, '').match(/^Error: .*/gm) ?? []
  expect(errors, said).to.have.lengthOf(1)
  expect(errors[0]).to.match(/^Error: \S/)
  if (form === 'pipe' && !keepsWhatCame(call)) expect(stdout, 'stdout of a failure').to.equal('')
}

/** `doctor` gives what it found wrong as its result. */
function reportsWhatFailed({ name }: Call): boolean {
  return commandOf(name) === 'doctor'
}

/** What had come, or had been done, is printed although the rest failed: docs/exit-codes.md. */
function keepsWhatCame({ name, args }: Call): boolean {
  return (
    args.includes('roles.csv') ||
    /^(users:get|users:import|chat:send streamed|auth:logout|service:run)/.test(name)
  )
}

/** A TMPDIR that is as empty as before, no half-written file, nothing outside of the home, no process. */
export async function expectNothingLeft({ world }: Ran, before: ReadonlySet<string>): Promise<void> {
  for (let wait = 0; processesOf(world).length > 0 && wait < 2_000; wait += 50) await sleep(50)
  expect(processesOf(world), 'processes').to.deep.equal([])
  const left = filesOf(world).filter((file) => !before.has(file) && !isOurs(file))
  expect(left, 'files').to.deep.equal([])
}

/** What a run may leave: in the home, by the names that docs and paths.ts give; here, what it was told to write. */
function isOurs(file: string): boolean {
  return [
    /^home\/\.config\/chatctl\/config\.json$/,
    /^home\/\.local\/share\/chatctl\/chatctl\.db(-wal|-shm)?$/,
    /^home\/\.local\/share\/chatctl\/before-restore-[\w-]+\.db$/,
    /^home\/\.local\/share\/chatctl\/credentials\/[0-9a-f]{64}\.json(\.lock)?$/,
    /^home\/\.local\/share\/chatctl\/(sessions|imports|plans)\//,
    /^home\/\.local\/share\/chatctl\/[\w.-]+\.lock$/,
    /^home\/\.local\/state\/chatctl\//,
    /^home\/\.cache\/chatctl\//,
    /^here\/(new\.db|history\.(json|pdf)|results\.csv|plan\.json)$/,
    /^here\/new-data\/chatctl\.db(-wal|-shm)?$/,
  ].some((name) => name.test(file))
}

/** Paths of all files of a world, from its root. */
export function filesOf({ root }: World): string[] {
  const list = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (path === 'stdin') return []
      return entry.isDirectory() ? list(path) : entry.isFile() ? [path] : []
    })
  return list('')
}
