import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import type { Directories } from '../../system/directories.ts'
import { makePrivateDirectory } from '../../system/make-private-directory.ts'

function folder({ state }: Directories): string {
  return join(state, 'applied-plans')
}

/**
 * Keeps in mind that a plan was applied, so that it is not a second time.
 *
 * @param id one that `composePlanFile` made: it becomes the name of a file
 * @throws Failure `storage`
 */
export function markApplied(directories: Directories, id: string): void {
  const path = join(folder(directories), id)
  try {
    makePrivateDirectory(folder(directories))
    writeFileSync(path, '', { mode: 0o600 })
  } catch (cause) {
    throw new Failure('storage', `That the plan was applied cannot be kept: ${describeSystemError(cause)}`, {
      hint: `Make ${folder(directories)} a folder that you may write to; do not apply the plan file again.`,
      cause,
    })
  }
}

export function isApplied(directories: Directories, id: string): boolean {
  return existsSync(join(folder(directories), id))
}
