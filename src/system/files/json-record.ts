import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isRecord } from '../../contract/notation/exact-json.ts'
import { makePrivateDirectory } from './private-directory.ts'
import { withFileLock } from './process-lock.ts'
import { replaceFile } from './replace-file.ts'

/** A JSON object in a file. Empty if the file is missing or damaged: nothing depends on it. */
export function readRecord(path: string): Record<string, unknown> {
  try {
    const record: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return isRecord(record) ? record : {}
  } catch {
    return {}
  }
}

/** Replaces the file, while no other process changes it. @throws Error if the directory is not writable */
export async function changeRecord(
  path: string,
  change: (before: Record<string, unknown>) => object,
): Promise<void> {
  makePrivateDirectory(dirname(path))
  await withFileLock(path, () => {
    replaceFile(path, `${JSON.stringify(change(readRecord(path)), undefined, '\t')}\n`, { flush: false })
  })
}
