import { afterColon, Failure, type Help } from '../../contract/failure.ts'
import { conversionHint, encodingWords, foreignEncodingOf } from '../../contract/notation/text.ts'
import type { TextFile } from '../../contract/resources/file-block.ts'
import { openDescriptor, readNamedFile } from './read-named-file.ts'

/** Default maximum of one file in a message. */
export const maxFileBytes = 1024 * 1024

export const ifFileTooLarge: Help = { advice: [{ code: 'larger_files' }] }

/**
 * Reads one text file for a message. Never waits for a named pipe or a device.
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
 * Reads files in order, and reports all failures together.
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

/**
 * Decodes UTF-8, without its byte order mark.
 * @param where the bytes are from: a file, or `stdin`
 * @throws Failure `refused` for bytes that are not UTF-8, and for a NUL
 */
export function decodeText(bytes: Uint8Array, where: string): string {
  if (foreignEncodingOf(bytes) !== undefined) throw notUtf8(where, bytes)
  const nul = bytes.indexOf(0)
  if (nul !== -1) {
    const { length } = new TextDecoder().decode(bytes.subarray(0, nul))
    throw new Failure('refused', `${where} is not text: it has a NUL character at position ${length}`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw notUtf8(where, bytes, cause)
  }
}

/** @param first bytes of it */
function notUtf8(where: string, first: Uint8Array, cause?: unknown): Failure {
  const hint = conversionHint(first, where)
  return new Failure('refused', `${where} is ${encodingWords(first)}`, { hint, cause })
}
