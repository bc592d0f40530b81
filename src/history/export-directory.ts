import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Failure } from '../contract/failure.ts'
import type { Clock } from '../system/clock.ts'
import type { Directories } from '../system/files/directories.ts'
import { makePrivateDirectory, unusableStateDirectory } from '../system/files/private-directory.ts'

/** Pages of an interrupted run are deleted after this time, in ms. */
const maxAge = 7 * 86_400_000

/** Identifies an export. Two exports in different formats are the same one. */
export interface ExportIdentity {
  /** Base URL; undefined for the embedded service. */
  service: string | undefined
  /** Identifies the user: a profile, a key. */
  owner: readonly string[]
  context: string | undefined
  /** The text of the flag. */
  since: string | undefined
}

export interface ExportDirectory {
  path: string
  /** Process ID of the interrupted run; undefined if there was none. */
  previousPid: number | undefined
}

/**
 * Opens the directory for the pages of a run. Its name ends with the process ID of the run. The directory of a
 * process that has ended is taken over, so that concurrent runs never share one.
 *
 * @throws Failure `storage`
 */
export function openExportDirectory(
  { state }: Directories,
  identity: ExportIdentity,
  clock: Clock,
): ExportDirectory {
  const all = join(state, 'exports')
  const name = nameOf(identity)
  const path = join(all, `${name}-${process.pid}`)
  try {
    makePrivateDirectory(all)
    removeOld(all, clock)
    const left = readdirSync(all)
      .filter((entry) => entry.startsWith(`${name}-`))
      .map((entry) => ({ entry, pid: Number(entry.slice(name.length + 1)) }))
      .filter(({ pid }) => pid === process.pid || !isRunning(pid))
    for (const { entry, pid } of left) {
      if (takeOver(join(all, entry), path)) return { path, previousPid: pid }
    }
    mkdirSync(path, { mode: 0o700 })
    return { path, previousPid: undefined }
  } catch (cause) {
    throw directoryFailure(all, cause)
  }
}

/** A digest, because the owner may contain a key. */
function nameOf({ service, owner, context, since }: ExportIdentity): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  const all = JSON.stringify([service ?? null, owner, context ?? null, since ?? null])
  return createHash('sha256').update(all).digest('hex').slice(0, 24)
}

/** @returns false if another run has already taken it over */
function takeOver(left: string, path: string): boolean {
  try {
    renameSync(left, path)
    return true
  } catch {
    return false
  }
}

function removeOld(all: string, clock: Clock): void {
  for (const entry of readdirSync(all)) {
    const path = join(all, entry)
    const pages =
      statSync(join(path, 'pages'), { throwIfNoEntry: false }) ?? statSync(path, { throwIfNoEntry: false })
    if (pages && clock.now() - pages.mtimeMs > maxAge) rmSync(path, { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    // EPERM: the process ID now belongs to another user.
    return false
  }
}

/** The failure if the pages of an export cannot be stored. */
export function directoryFailure(directory: string, cause: unknown): Failure {
  return unusableStateDirectory(directory, 'the pages of an export there until it is complete', cause)
}
