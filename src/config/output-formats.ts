import { Failure } from '../contract/failure.ts'

/** The output formats of every command that prints rows. */
export const outputFormats = ['table', 'json', 'jsonl', 'yaml', 'csv', 'tsv'] as const

/** Formats that a default may name. A command that does not offer one of them ignores it. */
export const defaultFormats = [...outputFormats, 'markdown'] as const
export type OutputFormat = (typeof defaultFormats)[number]

/** The `--output` formats of commands that write a document, instead of `outputFormats`. */
export type DocumentFormat = 'text' | 'markdown' | 'html' | 'json' | 'jsonl'

/** Formats as other tools call them. */
const formatSynonyms: ReadonlyMap<string, OutputFormat | DocumentFormat> = new Map([
  ['wide', 'table'],
  ['text', 'table'],
  ['human', 'table'],
  ['pretty', 'table'],
  ['yml', 'yaml'],
  ['ndjson', 'jsonl'],
])

/** The format of a name or a file extension. `md` is accepted because it is the extension. */
function fullName(text: string): string {
  return text === 'md' ? 'markdown' : text
}

/** @param formats of the command */
export function readOutputFormat<F extends OutputFormat | DocumentFormat>(
  text: string,
  formats: readonly F[],
): F {
  const format = formats.find((known) => known === fullName(text))
  if (format) return format
  const lower = text.toLowerCase()
  const meant = formats.find((known) => known === (formatSynonyms.get(lower) ?? fullName(lower)))
  throw new Failure('usage', `"${text}" is not one of ${formats.join(', ')}`, {
    hint: meant && `Did you mean: --output ${meant}`,
  })
}

/** Ignores a default that this command does not offer. One that no command offers is an error for each. */
export function offeredFormat<G extends { value: string; source: string }>(
  given: G | undefined,
  formats: readonly string[],
): G | undefined {
  const name = given && fullName(given.value)
  const isAside =
    given?.source !== 'flag' &&
    defaultFormats.some((format) => format === name) &&
    !formats.some((format) => format === name)
  return isAside ? undefined : given
}

/** The valid formats: a flag applies to this command, a default may apply to any command. */
export function formatsFrom<F extends OutputFormat | DocumentFormat>(
  source: string | undefined,
  formats: readonly F[],
): readonly (F | OutputFormat)[] {
  return source === 'flag' ? formats : [...new Set([...defaultFormats, ...formats])]
}
