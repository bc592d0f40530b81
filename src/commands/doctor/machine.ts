import { existsSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { commandLine } from '../../cli/command-line.ts'
import { ownVariables, unknownVariables } from '../../cli/help/environment-variables.ts'
import { profileOfService } from '../../config/resolve-options.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { countOf } from '../../view/format/quantities.ts'
import { type Doctor, type Examined, ok, warning } from './finding.ts'

/** Warns about misspelled variables. Values are not shown, because they may be secrets. */
export function examineEnvironment({ context: { env } }: Doctor): Examined[] {
  const unknown = unknownVariables(env)
  if (unknown.length > 0) return unknown.map(({ message, hint }) => warning('environment', message, hint))
  const set = ownVariables.filter((name) => (env[name] ?? '') !== '').sort()
  return [ok('environment', set.length === 0 ? 'no CHATCTL_ variable is set' : `set: ${set.join(', ')}`)]
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

/** Unfinished imports, each with the command that resumes it. */
export async function examineImports({ context }: Doctor): Promise<Examined[]> {
  const { findUnfinishedImports } = await import('../../users/unfinished-imports.ts')
  const unfinished = findUnfinishedImports(context)
  if (unfinished.length === 0) return [ok('imports', 'none is unfinished')]
  return unfinished.map(({ file, import: kind, service, rows, sent, unknown }) => {
    const outcome = unknown === 0 ? '' : `; the outcome of ${countOf(unknown, 'row')} is unknown`
    const words = `${file}: ${sent} of ${rows} rows were sent to ${service}${outcome}`
    const path = file === 'stdin' ? '-' : file
    const command =
      kind === 'users' ? ['users', 'import', path] : ['users', 'permissions', 'assign', '--file', path]
    // The profile has the credential that is needed.
    const profile = profileOfService(context.configuration, service)
    const place = profile === undefined ? ['--base-url', service] : ['--profile', profile]
    const resume = commandLine(...command, ...place)
    const hint = `Add --close to abandon it, or resume it${file === 'stdin' ? ' with the same input' : ''}: ${resume}`
    // Rows that were never sent may be invalid rows that the import skipped.
    return unknown > 0 ? warning('imports', words, hint) : ok('imports', words, hint)
  })
}
