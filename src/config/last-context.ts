import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isRecord } from '../contract/notation/exact-json.ts'
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

export function readLastContext(directories: Directories, owner: ContextOwner): string | undefined {
  const value = readContexts(directories)[keyOf(owner)]
  return typeof value === 'string' ? value : undefined
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

/** Time of the last stored conversation, in ms; 0 if none is stored. */
export function lastContextTime(directories: Directories): number {
  return statSync(pathIn(directories), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** @throws Error if the state directory is not writable; the service still has the conversation */
export async function rememberLastContext(
  directories: Directories,
  owner: ContextOwner,
  contextId: string,
): Promise<void> {
  const path = pathIn(directories)
  makePrivateDirectory(directories.state)
  await withFileLock(path, () => {
    const contexts = { ...readContexts(directories), [keyOf(owner)]: contextId }
    replaceFile(path, `${JSON.stringify(contexts, undefined, '\t')}\n`, { flush: false })
  })
}
