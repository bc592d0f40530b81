import { writeFile } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import type { Directories } from '../../system/files/directories.ts'
import { demandFileName } from '../../system/files/windows-file-name.ts'

/**
 * Writes a new file. `~/` in the path is the home directory.
 *
 * @returns its absolute path
 * @throws Failure `refused` if the file exists, `storage` if it cannot be written, `usage` for its name
 */
export async function saveText(path: string, text: string, place: FileLocation): Promise<string> {
  if (path === '') throw new Failure('usage', 'Missing file name', { hint: 'For example: /save reply.md' })
  const file = resolve(place.cwd ?? '', expandHome(path, place))
  demandFileName(file)
  try {
    await writeFile(file, text, { flag: 'wx', mode: 0o600 })
    return file
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new Failure('refused', `${file} already exists`, { hint: 'Choose another file name.', cause })
    }
    throw new Failure('storage', `Cannot write ${file}: ${describeSystemError(cause)}`, { cause })
  }
}

/** Base of file names. */
export interface FileLocation {
  directories: Pick<Directories, 'home'>
  /** Undefined for the working directory of the process. */
  cwd: string | undefined
}

export function expandHome(path: string, { directories }: FileLocation): string {
  // Windows has two separators.
  const isInHome = path === '~' || path.startsWith('~/') || path.startsWith(`~${sep}`)
  return isInHome ? directories.home + path.slice(1) : path
}
