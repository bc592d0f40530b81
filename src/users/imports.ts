import type { Ledger } from '../ledger/ledger.ts'
import type { ImportNote } from '../ledger/record.ts'

/** What the ledger has about the import of a file. */
export interface ImportKnowledge extends Pick<ImportNote, 'import' | 'file' | 'text' | 'rows' | 'restarted'> {
  /** IDs of its runs since the last one that was restarted. */
  runs: readonly string[]
  /** IDs of those after which some row was not sent, or has an unknown outcome. */
  openRuns: readonly string[]
  isClosed: boolean
}

/** The imports of files that are in a ledger. @throws as `Ledger` */
export function importsIn(ledger: Ledger): ImportKnowledge[] {
  const imports = new Map<string, ImportKnowledge & { runs: string[] }>()
  const finished = new Set<string>()
  for (const { by, ended, runs = [], ...note } of ledger.notesWith<ImportNote>('import')) {
    const key = JSON.stringify([note.import, note.file, note.text])
    const known = imports.get(key)
    for (const run of ended === 'finished' ? [by, ...runs] : []) finished.add(run)
    if (known && ended === 'closed') known.isClosed = true
    if (ended) continue
    const earlier = note.restarted ? undefined : known
    const restarted = earlier?.restarted ?? note.restarted
    imports.set(key, {
      ...note,
      restarted,
      runs: [...(earlier?.runs ?? []), by],
      openRuns: [],
      isClosed: false,
    })
  }
  return Array.from(imports.values(), (one) => {
    const openRuns = one.runs.filter((run) => !finished.has(run))
    return { ...one, openRuns, restarted: one.restarted && openRuns.length === one.runs.length }
  })
}
