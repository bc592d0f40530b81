import { existsSync } from 'node:fs'
import { Failure } from '../contract/failure.ts'
import { systemFailure } from '../system/describe-system-error.ts'
import { replaceFile } from '../system/files/replace-file.ts'
import { linesWith } from '../system/files/shared-lines.ts'
import type { PlacedEntry } from './knowledge.ts'
import type { Ledger } from './ledger.ts'
import { lockLedger } from './use-lock.ts'

/**
 * Erases changes from a ledger, so that its file no longer contains them.
 *
 * @param find the changes, under the lock
 * @throws Failure `conflict` if a run has the ledger open; `storage` if the ledger cannot be rewritten
 */
export function eraseChanges({ path }: Ledger, find: () => readonly PlacedEntry[]): readonly PlacedEntry[] {
  if (!existsSync(path)) return []
  let release: (() => void) | undefined
  try {
    release = lockLedger(`${path}.lock`, 'rewrite')
    if (!release) {
      throw new Failure('conflict', 'Another chatctl process is sending changes to this service', {
        hint: 'Nothing was erased. Run the command again when the other process has ended.',
      })
    }
    const erased = find()
    const ids = new Set(erased.map(({ id }) => id))
    const kept: string[] = []
    for (const { text } of linesWith(path, ['"'])) {
      const id = /"(?:id|of)":"([^"]*)"/.exec(text)?.[1]
      if (id === undefined || !ids.has(id)) kept.push(`${text}\n`)
    }
    if (ids.size > 0) replaceFile(path, kept.join(''), { flush: true })
    return erased
  } catch (cause) {
    throw systemFailure(`Cannot rewrite the ledger ${path}`, cause)
  } finally {
    release?.()
  }
}
