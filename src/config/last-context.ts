import { join } from 'node:path'
import { Failure } from '../contract/failure.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import type { Directories } from '../system/files/directories.ts'
import { changeRecord, readRecord } from '../system/files/json-record.ts'

const pathIn = ({ state }: Directories): string => join(state, 'last-contexts.json')

/** `--continue` resumes the last conversation of this profile and base URL. */
export interface ContextOwner {
  /** The ID of the profile. */
  profile: string | undefined
  /** Origin and path of the service; undefined for the embedded one. */
  baseUrl: string | undefined
}

function keyOf({ profile, baseUrl }: ContextOwner): string {
  return `${profile ?? ''} ${baseUrl ?? ''}`
}

/** The last conversation on the service that was used without a transcript. */
interface LastContext {
  id: string
  /** ISO 8601. */
  at: string
  /** As the time of the last change of a transcript, in ms. */
  usedAt: number
}

export function readLastContext(directories: Directories, owner: ContextOwner): LastContext | undefined {
  const last = readRecord(pathIn(directories))[keyOf(owner)] as Partial<LastContext> | undefined
  const { id, at, usedAt = Date.parse(at ?? '') } = last ?? {}
  return typeof id === 'string' && typeof at === 'string' ? { id, at, usedAt } : undefined
}

/** @throws Error if the state directory is not writable; the service still has the conversation */
export async function rememberLastContext(
  directories: Directories,
  owner: ContextOwner,
  last: LastContext,
): Promise<void> {
  await changeRecord(pathIn(directories), (contexts) => ({ ...contexts, [keyOf(owner)]: last }))
}

/** Forgets conversations, with every profile and base URL. @returns the failure, if the file cannot be changed */
export async function forgetLastContexts(
  directories: Directories,
  ids: readonly unknown[],
): Promise<Failure | undefined> {
  const isOther = (last: unknown) => !ids.includes(Object(last).id)
  const remembered = Object.values(readRecord(pathIn(directories))).filter((last) => !isOther(last))
  if (remembered.length === 0) return undefined
  try {
    await changeRecord(pathIn(directories), (contexts) =>
      Object.fromEntries(Object.entries(contexts).filter(([, last]) => isOther(last))),
    )
    return undefined
  } catch (cause) {
    const names = remembered.map((last) => Object(last).id).join(', ')
    const words = `Deleted from this machine, but still the conversation to continue: ${names}`
    const hint = `Delete ${pathIn(directories)}, which has only the last conversation of each profile.`
    return new Failure('storage', `${words}: ${describeSystemError(cause)}`, { hint, cause })
  }
}
