import { Failure } from '../contract/failure.ts'

export const outputFormats = ['table', 'json', 'jsonl', 'yaml', 'csv', 'tsv'] as const
export type OutputFormat = (typeof outputFormats)[number]

/** The `--output` formats of commands that write a document, instead of `outputFormats`. */
export type DocumentFormat = 'text' | 'md' | 'html' | 'json' | 'jsonl'

/** Formats as other tools call them. */
const formatSynonyms: ReadonlyMap<string, OutputFormat | DocumentFormat> = new Map([
  ['wide', 'table'],
  ['text', 'table'],
  ['human', 'table'],
  ['pretty', 'table'],
  ['yml', 'yaml'],
  ['ndjson', 'jsonl'],
  ['markdown', 'md'],
])

/** @param formats of the command */
export function readOutputFormat<F extends OutputFormat | DocumentFormat>(
  text: string,
  formats: readonly F[],
): F {
  const format = formats.find((known) => known === text)
  if (format) return format
  const meant = formats.find((known) => known === formatSynonyms.get(text.toLowerCase()))
  throw new Failure('usage', `"${text}" is not one of ${formats.join(', ')}`, {
    advice: meant === undefined ? [] : [{ code: 'output_format', format: meant }],
  })
}

/**
 * Ignores a default output format for rows if the command writes a document. A default that no command
 * offers is an error for every command.
 */
export function offeredFormat<G extends { value: string; source: string }>(
  given: G | undefined,
  documentFormats: readonly string[] | undefined,
): G | undefined {
  const isAside =
    documentFormats &&
    given &&
    given.source !== 'flag' &&
    !documentFormats.includes(given.value) &&
    outputFormats.some((format) => format === given.value)
  return isAside ? undefined : given
}

/** The valid formats: a flag applies to this command, a default may apply to any command. */
export function formatsFrom(
  source: string | undefined,
  documentFormats: readonly DocumentFormat[] | undefined,
): readonly (OutputFormat | DocumentFormat)[] {
  if (documentFormats === undefined) return outputFormats
  return source === 'flag' ? documentFormats : [...new Set([...outputFormats, ...documentFormats])]
}
