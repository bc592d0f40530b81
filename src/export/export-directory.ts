import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../contract/failure.ts'
import type { Clock } from '../system/clock.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import type { Directories } from '../system/directories.ts'
import { makePrivateDirectory } from '../system/private-directory.ts'

/** Ms: what a run has left is of use for that long. */
const keptFor = 7 * 86_400_000

/** What makes two exports the same one, whatever format they are written in. */
export interface ExportIdentity {
  /** Origin and path; undefined for the embedded service. */
  service: string | undefined
  /** Whose history it is: a profile, a key. */
  owner: readonly string[]
  context: string | undefined
  /** As it was given. */
  since: string | undefined
}

export interface ExportDirectory {
  path: string
  /** The process of the run that left it; undefined where there was none. */
  leftBy: number | undefined
}

/**
 * The directory where a run keeps its pages. Its name ends with the process that has it: one whose
 * process is no more is taken over, so that two runs at the same time never share one.
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
      if (takeOver(join(all, entry), path)) return { path, leftBy: pid }
    }
    mkdirSync(path, { mode: 0o700 })
    return { path, leftBy: undefined }
  } catch (cause) {
    throw directoryFailure(all, cause)
  }
}

/** A digest, for an owner may be told apart by a key. */
function nameOf({ service, owner, context, since }: ExportIdentity): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  const all = JSON.stringify([service ?? null, owner, context ?? null, since ?? null])
  return createHash('sha256').update(all).digest('hex').slice(0, 24)
}

/** Another run may be quicker. */
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
    const index =
      statSync(join(path, 'index'), { throwIfNoEntry: false }) ?? statSync(path, { throwIfNoEntry: false })
    if (index && clock.now() - index.mtimeMs > keptFor) rmSync(path, { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    // EPERM: somebody else's, who has taken the number.
    return false
  }
}

/** What to say where the pages of an export cannot be kept. */
export function directoryFailure(directory: string, cause: unknown): Failure {
  return new Failure('storage', `Cannot use the directory ${directory}: ${describeSystemError(cause)}`, {
    hint: 'chatctl stores the pages of an export there until it is complete. To use another directory, set XDG_STATE_HOME.',
    cause,
  })
}
