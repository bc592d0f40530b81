import { extname } from 'node:path'

export type InputFormat = 'csv' | 'jsonl' | 'json' | 'yaml'

const extensions: Readonly<Record<string, InputFormat>> = {
  '.csv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'json',
  '.yaml': 'yaml',
  '.yml': 'yaml',
}

/** @returns undefined if the name has no known file extension */
export function formatOfExtension(name: string): InputFormat | undefined {
  return extensions[extname(name).toLowerCase()]
}

/** The probable format, by the first characters. */
export function formatOfText(text: string): InputFormat {
  const start = text.replace(/^\ufeff/, '').trimStart()
  if (start.startsWith('[')) return 'json'
  if (start.startsWith('{')) return 'jsonl'
  return /^(- |---\s|-\r?\n)/.test(start) ? 'yaml' : 'csv'
}
