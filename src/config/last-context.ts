import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Directories } from '../system/directories.ts'
import { makePrivateDirectory } from '../system/private-directory.ts'
import { withFileLock } from '../system/process-lock.ts'

const fileName = 'last-contexts'

/** `--continue` resumes the last conversation of this profile and base URL. */
export interface ContextOwner {
  profile: string | undefined
  /** Origin and path of the service; undefined for the embedded one. */
  baseUrl: string | undefined
}

function keyOf({ profile, baseUrl }: ContextOwner): string {
  return `${profile ?? ''} ${baseUrl ?? ''}`
}

export function readLastContext(directories: Directories, owner: ContextOwner): string | undefined {
  try {
    const contexts: unknown = JSON.parse(readFileSync(join(directories.state, `${fileName}.json`), 'utf8'))
    const value = (contexts as Record<string, unknown>)[keyOf(owner)]
    return typeof value === 'string' ? value : undefined
  } catch {
    // The file does not exist at first. If it is damaged, --context still works.
    return undefined
  }
}

/** Time of the last stored conversation, in ms; 0 if none is stored. */
export function lastContextTime({ state }: Directories): number {
  return statSync(join(state, `${fileName}.json`), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** @throws Error if the state directory is not writable; the service still has the conversation */
export async function rememberLastContext(
  { state }: Directories,
  owner: ContextOwner,
  contextId: string,
): Promise<void> {
  makePrivateDirectory(state)
  const { default: Conf } = await import('conf')
  await withFileLock(join(state, `${fileName}.json`), () => {
    const file = new Conf<Record<string, string>>({
      cwd: state,
      configName: fileName,
      configFileMode: 0o600,
      clearInvalidConfig: true,
      accessPropertiesByDotNotation: false,
    })
    file.set(keyOf(owner), contextId)
  })
}
