import { Failure } from '../../contract/failure.ts'

/**
 * The format of a file to write: from the flag `--output`, the file extension, or the default of the user.
 * @param formats by file extension
 * @returns undefined if none of them names one of `formats`
 * @throws Failure `usage` for an unknown file extension. A name without one, such as `messages`, is valid.
 */
export function formatOfFile<F>(
  file: string,
  formats: Readonly<Record<string, F>>,
  { value, source }: { value: unknown; source: string },
): F | undefined {
  const asked = Object.values(formats).find((one) => one === value)
  if (source === 'flag') return asked
  const [, extension] = /[^/\\]\.([a-z]\w*)$/i.exec(file) ?? []
  const [, named] = Object.entries(formats).find(([one]) => one === extension?.toLowerCase()) ?? []
  if (extension !== undefined && (named ?? asked) === undefined) {
    throw new Failure('usage', `"${file}": unknown file extension .${extension}`, {
      hint: `Use .${Object.keys(formats).join(', .')}, or choose the format with --output.`,
    })
  }
  return named ?? asked
}
