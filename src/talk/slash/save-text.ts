import { writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'

/**
 * Writes a new file; `~/` is the home folder.
 *
 * @returns its absolute path
 * @throws Failure `refused` where there is one already, `storage` where it cannot be written
 */
export async function saveText(path: string, text: string): Promise<string> {
  if (path === '') throw new Failure('usage', 'Which file?', { hint: 'For example: /save answer.md' })
  const file = resolve(expandHome(path))
  try {
    await writeFile(file, text, { flag: 'wx', mode: 0o600 })
    return file
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new Failure('refused', `${file} is there already`, { hint: 'Name another file.', cause })
    }
    throw new Failure('storage', `${file} cannot be written: ${describeSystemError(cause)}`, { cause })
  }
}

export function expandHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? homedir() + path.slice(1) : path
}
