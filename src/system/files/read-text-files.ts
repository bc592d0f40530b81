import { afterColon, Failure, type Help } from '../../contract/failure.ts'
import type { TextFile } from '../../contract/resources/file-block.ts'
import { decodeText } from './decode-text.ts'
import { openDescriptor, readNamedFile } from './read-named-file.ts'

/** Default maximum of one file in a message. */
export const maxFileBytes = 1024 * 1024

export const ifFileTooLarge: Help = { advice: [{ code: 'larger_files' }] }

/**
 * Reads one text file for a message. Never waits for a named pipe or a device.
 *
 * @param at the absolute path
 * @throws Failure `refused` if it cannot be read, is not a regular file, is not text, or is too large
 */
export function readTextFileAt(name: string, at: string, maxBytes: number): TextFile {
  const bytes = readNamedFile(name, {
    at,
    maxBytes,
    ifTooLarge: ifFileTooLarge,
    isRegular: !openDescriptor.test(name),
    kind: 'refused',
  })
  return { name, content: decodeText(bytes, name) }
}

/**
 * Reads files in order, and reports all failures at once.
 *
 * @throws Failure `refused` that names every file that cannot be read
 */
export async function readEach(
  names: readonly string[],
  read: (name: string) => TextFile | Promise<TextFile>,
): Promise<TextFile[]> {
  const files: TextFile[] = []
  const failures: Failure[] = []
  for (const name of names) {
    try {
      files.push(await read(name))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      failures.push(error)
    }
  }
  const [first] = failures
  if (!first) return files
  if (failures.length === 1) throw first
  const reasons = failures.map(({ message }) => afterColon(message))
  const advised = failures.find(({ advice }) => advice.length > 0)
  throw new Failure(
    'refused',
    `${failures.length} of ${names.length} files cannot be sent: ${reasons.join('; ')}`,
    { advice: advised?.advice, cause: first },
  )
}
