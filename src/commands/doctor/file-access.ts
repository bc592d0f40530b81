import { existsSync, lstatSync, mkdtempSync, readdirSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { quoteWord } from '../../cli/command-line.ts'
import { configurationPath } from '../../config/configuration-file.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { isOursAlone, makePrivateDirectory } from '../../system/files/private-directory.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Examined, ok, skipped, warning } from './finding.ts'

/** Maximum number of files in the message. */
const maxNamed = 5

/** Whether other users can access the files: they should be 0600, in 0700 directories. */
export function examineModes({ context: { directories } }: DoctorContext): Examined[] {
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
  const wide = [...privateDirectories.filter(isWide), ...files.filter(isWide)]
  if (wide.length === 0) return [ok('permissions', 'only you can read the files of chatctl')]
  const wideDirectories = wide.filter((path) => privateDirectories.includes(path))
  const wideFiles = wide.filter((path) => !privateDirectories.includes(path))
  const commands = [
    ...(wideDirectories.length > 0
      ? [['chmod 700', ...wideDirectories.map((path) => quoteWord(path))].join(' ')]
      : []),
    ...(wideFiles.length > 0
      ? [['chmod 600', ...wideFiles.slice(0, maxNamed).map((path) => quoteWord(path))].join(' ')]
      : []),
  ]
  const more = wide.length > maxNamed ? ` and ${wide.length - maxNamed} more` : ''
  const named = wide.slice(0, maxNamed).join(', ')
  return [
    warning(
      'permissions',
      `Other users can access ${named}${more}`,
      `Restrict access with: ${commands.join('; ')}`,
    ),
  ]
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
export function examineDirectories({ context: { directories } }: DoctorContext): Examined[] {
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
export function examineCache({ context }: DoctorContext): Examined[] {
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
  if (isOpen(directory)) return [warning('cache', words, `Remove it with: rm -r ${quoteWord(directory)}`)]
  return [warning('cache', words, 'Set XDG_CACHE_HOME to a directory that only you can write to.')]
}

function isOpen(directory: string): boolean {
  const { uid, mode } = lstatSync(directory)
  return uid === process.getuid?.() && (mode & 0o022) !== 0
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
