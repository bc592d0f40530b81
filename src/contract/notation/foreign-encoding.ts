/**
 * The hint for converting a text that is not UTF-8.
 *
 * @param name of a file, or `stdin`
 */
export function conversionHint(first: Uint8Array, name: string, platform = process.platform): string {
  // Without iconv, but in Windows PowerShell `>` writes UTF-16.
  if (platform === 'win32') return 'Save the text as UTF-8, for example in Notepad.'
  const encoding = foreignEncodingOf(first)
  const input = name !== 'stdin' && /^[\w./-]+$/.test(name) ? ` ${name}` : ''
  const command = `iconv -f ${encoding ?? 'WINDOWS-1252'} -t UTF-8${input}`
  return encoding === undefined ? `Convert it, for example with: ${command}` : `Convert it with: ${command}`
}

/**
 * The encoding of a text by its first bytes: a byte order mark (Unicode 16, section 23.8), or a 0 in every other
 * byte. With a byte order mark it is UTF-16 without a byte order, so that iconv removes the mark.
 *
 * @returns undefined if the bytes do not show it
 */
export function foreignEncodingOf([a, b, c, d]: Uint8Array): string | undefined {
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 ? 'UTF-32' : 'UTF-16'
  if (a === 0xfe && b === 0xff) return 'UTF-16'
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return 'UTF-32'
  if (a && b === 0 && c && d === 0) return 'UTF-16LE'
  return a === 0 && b && c === 0 && d ? 'UTF-16BE' : undefined
}

/** Describes a text that is not UTF-8, for an error message after its name and "is". */
export function encodingWords(first: Uint8Array): string {
  const encoding = foreignEncodingOf(first)
  return encoding === undefined ? 'not UTF-8 text' : `${encoding} text, not UTF-8`
}
