import { extname } from 'node:path'

export type InputForm = 'csv' | 'jsonl' | 'json' | 'yaml'

const endings: Readonly<Record<string, InputForm>> = {
  '.csv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'json',
  '.yaml': 'yaml',
  '.yml': 'yaml',
}

/** The form that the name of a file says; undefined where it says none. */
export function formOfEnding(name: string): InputForm | undefined {
  return endings[extname(name).toLowerCase()]
}

/** The form that the first characters of a text look like. */
export function formOfText(text: string): InputForm {
  const start = text.replace(/^\ufeff/, '').trimStart()
  if (start.startsWith('[')) return 'json'
  if (start.startsWith('{')) return 'jsonl'
  return /^(- |---\s|-\r?\n)/.test(start) ? 'yaml' : 'csv'
}
