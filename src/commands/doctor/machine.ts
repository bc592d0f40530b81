import { existsSync, lstatSync, mkdtempSync, readdirSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { commandLine, quoteWord } from '../../cli/command-line.ts'
import { ownVariables, unknownVariables } from '../../cli/help/environment-variables.ts'
import { wantsColor } from '../../cli/output/colors.ts'
import { type Configuration, configurationPath } from '../../config/configuration-file.ts'
import { localProfile } from '../../config/resolve-options.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { isOursAlone, makePrivateDirectory } from '../../system/files/private-directory.ts'
import { findUnfinishedImports } from '../../users/journal/open-journal.ts'
import { speaksUnicode } from '../../view/checks.ts'
import { countOf, describeBytes } from '../../view/format/quantities.ts'
import { type Doctor, type Examined, ok, skipped, warning } from './finding.ts'

/** Warns about misspelled variables. Values are not shown, because they may be secrets. */
export function examineEnvironment({ context: { env } }: Doctor): Examined[] {
  const unknown = unknownVariables(env)
  if (unknown.length > 0) return unknown.map(({ message, hint }) => warning('environment', message, hint))
  const set = ownVariables.filter((name) => (env[name] ?? '') !== '').sort()
  return [ok('environment', set.length === 0 ? 'no CHATCTL_ variable is set' : `set: ${set.join(', ')}`)]
}

/** Maximum number of files in the message. */
const maxNamed = 5

/** Whether other users can access the files: they should be 0600, in 0700 directories. */
export function examineModes({ context: { directories } }: Doctor): Examined[] {
  if (process.getuid === undefined) return [skipped('permissions', 'this system has no file modes')]
  const { config, data, sessions, state } = directories
  const credentials = join(data, 'credentials')
  const privateDirectories = [config, data, sessions, credentials, state]
  const files = [
    configurationPath(directories),
    join(data, 'chatctl.db'),
    ...filesIn(credentials),
    ...filesIn(sessions),
  ]
  const wide = [...privateDirectories, ...files].filter(isWide)
  if (wide.length === 0) return [ok('permissions', 'only you can read the files of chatctl')]
  const shown = wide.slice(0, maxNamed)
  const more = wide.length > maxNamed ? ` and ${wide.length - maxNamed} more` : ''
  const command = `chmod go-rwx ${shown.map((path) => quoteWord(path)).join(' ')}`
  const message = `Other users can access ${shown.join(', ')}${more}`
  return [warning('permissions', message, `Restrict access with: ${command}`)]
}

function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory).map((name) => join(directory, name))
  } catch {
    return []
  }
}

/** Whether other users have access. A file that does not exist is private. */
function isWide(path: string): boolean {
  try {
    const stats = lstatSync(path)
    return !stats.isSymbolicLink() && (stats.mode & 0o077) !== 0
  } catch {
    return false
  }
}

/** Whether the directories are writable, or can be created. Does not create them. */
export function examineDirectories({ context: { directories } }: Doctor): Examined[] {
  const uses = [
    ['XDG_CONFIG_HOME', directories.config, 'profiles cannot be changed'],
    ['XDG_DATA_HOME', directories.data, 'sessions and the data of the embedded service cannot be stored'],
    [
      'XDG_STATE_HOME',
      directories.state,
      'users import and history export fail, and chat --continue cannot find new conversations',
    ],
  ] as const
  const faults = uses.flatMap(([variable, directory, effect]) => {
    const obstacle = obstacleTo(directory)
    if (obstacle === undefined) return []
    const hint = `Set ${variable} to a directory that you can write to.`
    return [warning('directories', `${obstacle}; ${effect}`, hint)]
  })
  return faults.length > 0 ? faults : [ok('directories', 'configuration, data, and state are writable')]
}

/** The cache of compiled code, which is used only if it is private (src/boot/load-bundle.ts). */
export function examineCache({ context }: Doctor): Examined[] {
  const directory = context.directories.cache
  // boot/native-addon.ts
  const effect = context.host.installation.isExecutable ? ', and the keychain cannot be used' : ''
  const slower = `so every command starts more slowly${effect}`
  try {
    makePrivateDirectory(directory)
    tryToWrite(directory)
  } catch (error) {
    const words = `${directory} is not writable, ${slower}: ${describeSystemError(error)}`
    return [warning('cache', words, 'Set XDG_CACHE_HOME to a directory that you can write to.')]
  }
  if (isOursAlone(directory)) return [ok('cache', directory)]
  const words = `${directory} is writable by other users and therefore not used, ${slower}`
  // Files from another user would still be there after a change of the mode.
  return [warning('cache', words, `Remove it with: rm -r ${quoteWord(directory)}`)]
}

/** The directory itself, or the nearest one above it that exists. */
export function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}

/** Why a directory cannot be written or created; undefined if it can. */
export function obstacleTo(directory: string): string | undefined {
  const nearest = nearestExisting(directory)
  const cannot = nearest === directory ? 'is not writable' : `cannot be created in ${nearest}`
  try {
    if (!statSync(nearest).isDirectory()) return `${directory} ${cannot}: not a directory`
    tryToWrite(nearest)
    return undefined
  } catch (error) {
    return `${directory} ${cannot}: ${describeSystemError(error)}`
  }
}

/**
 * Creates a directory in it, and removes it. access(2) reports too much: root can write to /proc, and it ignores the
 * permissions of Windows.
 */
function tryToWrite(directory: string): void {
  rmdirSync(mkdtempSync(join(directory, '.chatctl-doctor-')))
}

/** Columns below which tables are broken into many lines. */
const narrow = 60

/** What the terminal on stdout can show. */
export function examineTerminal({ context }: Doctor): Examined[] {
  const { env } = context
  const { stdout } = context.host
  if (!context.streams.isShown) return [skipped('terminal', 'stdout is not a terminal')]
  const term = env['TERM'] ?? 'unknown'
  const color = wantsColor(stdout, env, context.output.isColorless) ? 'in color' : 'without color'
  const words = `${term}, ${stdout.columns} columns, ${color}`
  if (!speaksUnicode(env)) {
    const hint = 'export LC_ALL=C.UTF-8'
    return [
      warning(
        'terminal',
        `${words}; its locale is not UTF-8, so non-ASCII letters may be garbled`,
        `Set a locale with: ${hint}`,
      ),
    ]
  }
  if (stdout.columns < narrow)
    return [ok('terminal', `${words}; too narrow for wide tables: prefer -o jsonl`)]
  return [ok('terminal', words)]
}

/** Number and size of the sessions on this machine. */
export function examineTranscripts({ context }: Doctor): Examined[] {
  const directory = context.directories.sessions
  const { files, bytes } = measure(directory, (name) => name.endsWith('.jsonl'))
  if (files === 0) return [ok('transcripts', 'none yet')]
  return [ok('transcripts', `${countOf(files, 'session')}, ${describeBytes(bytes)}, in ${directory}`)]
}

/** Unfinished imports, each with the command that resumes it. */
export async function examineImports({ context }: Doctor): Promise<Examined[]> {
  const { bytes } = measure(join(context.directories.state, 'imports'), () => true)
  const unfinished = await findUnfinishedImports(context.directories)
  if (unfinished.length === 0) {
    return [ok('imports', bytes === 0 ? 'none' : `none is unfinished; journals: ${describeBytes(bytes)}`)]
  }
  return unfinished.map(({ file, kind, service, rows, tried, unknown }) => {
    const outcome = unknown === 0 ? '' : `; the outcome of ${countOf(unknown, 'row')} is unknown`
    const words = `${file}: ${tried} of ${rows} rows were sent to ${service}${outcome}`
    const path = file === 'stdin' ? '-' : file
    const command =
      kind === 'users' ? ['users', 'import', path] : ['users', 'permissions', 'assign', '--file', path]
    const resume = commandLine(...command, ...serviceFlag(service, context.configuration))
    const hint = `Add --close to abandon it, or resume it${file === 'stdin' ? ' with the same input' : ''}: ${resume}`
    // Rows that were never sent may be invalid rows that the import skipped.
    return unknown > 0 ? warning('imports', words, hint) : ok('imports', words, hint)
  })
}

/** The profile with this base URL, because its credential is needed. @param service of a journal */
function serviceFlag(service: string, { profiles = {} }: Configuration): string[] {
  if (service.startsWith('local ')) return ['--profile', localProfile]
  const found = Object.entries(profiles).find(
    ([name, { base_url: url = '' }]) =>
      name !== localProfile && URL.canParse(url) && new URL(url).href === service,
  )
  return found ? ['--profile', found[0]] : ['--base-url', service]
}

function measure(directory: string, isMeant: (name: string) => boolean): { files: number; bytes: number } {
  let files = 0
  let bytes = 0
  for (const name of namesIn(directory)) {
    if (!isMeant(name)) continue
    files++
    bytes += statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0
  }
  return { files, bytes }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
