import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../contract/failure.ts'
import { isRecord } from '../contract/notation/exact-json.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import type { Directories } from '../system/files/directories.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { withFileLock } from '../system/files/process-lock.ts'
import { replaceFile } from '../system/files/replace-file.ts'

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

/** The last conversation on the service, and when it was used, in ISO 8601. */
interface LastContext {
  id: string
  at: string
}

export function readLastContext(directories: Directories, owner: ContextOwner): LastContext | undefined {
  const { id, at } = { ...(readContexts(directories)[keyOf(owner)] as Partial<LastContext> | undefined) }
  return typeof id === 'string' && typeof at === 'string' ? { id, at } : undefined
}

function readContexts(directories: Directories): Record<string, unknown> {
  try {
    const contexts: unknown = JSON.parse(readFileSync(pathIn(directories), 'utf8'))
    return isRecord(contexts) ? contexts : {}
  } catch {
    // The file does not exist at first. If it is damaged, --context still works.
    return {}
  }
}

/** @throws Error if the state directory is not writable; the service still has the conversation */
export async function rememberLastContext(
  directories: Directories,
  owner: ContextOwner,
  last: LastContext,
): Promise<void> {
  await changeContexts(directories, (contexts) => ({ ...contexts, [keyOf(owner)]: last }))
}

/** Forgets conversations, with every profile and base URL. @returns the failure, if the file cannot be changed */
export async function forgetLastContexts(
  directories: Directories,
  ids: readonly unknown[],
): Promise<Failure | undefined> {
  const isOther = (last: unknown) => !ids.includes(Object(last).id)
  const remembered = Object.values(readContexts(directories)).filter((last) => !isOther(last))
  if (remembered.length === 0) return undefined
  try {
    await changeContexts(directories, (contexts) =>
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

async function changeContexts(
  directories: Directories,
  change: (contexts: Record<string, unknown>) => object,
): Promise<void> {
  const path = pathIn(directories)
  makePrivateDirectory(directories.state)
  await withFileLock(path, () => {
    const contexts = change(readContexts(directories))
    replaceFile(path, `${JSON.stringify(contexts, undefined, '\t')}\n`, { flush: false })
  })
}
