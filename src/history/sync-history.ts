import { existsSync } from 'node:fs'
import type { Run } from '../run/run.ts'
import { countOf } from '../view/format/quantities.ts'
import { type FetchRun, fetchHistory, type Selection } from './fetch-history.ts'
import { removeDatabase } from './message-database.ts'
import {
  demandMirror,
  lockMirror,
  Mirror,
  type MirrorFacts,
  mirrorPath,
  mirrorsDirectory,
  openToSearch,
  ownerOf,
} from './mirror.ts'

export type SyncRun = FetchRun & Pick<Run, 'clock' | 'confirm' | 'contextOwner' | 'directories' | 'user'>

interface SyncOptions extends Pick<Selection, 'onMessages'> {
  /** Whether to fetch all messages again, and remove those that the service no longer has. */
  isFull: boolean
}

export interface SyncResult {
  facts: MirrorFacts
  path: string
  /** Number of new messages, and of those that the service no longer has. */
  added: number
  removed: number
  /** Whether this run has seen all messages of the service. */
  isWhole: boolean
}

/**
 * Fetches the messages that a mirror does not have yet, the newest first. If it ends early, the next sync
 * fetches newer messages first, and then continues where this one stopped.
 * @throws Failure `conflict` if another process syncs the same history, or if the mirror is of another user; `storage`
 */
export async function syncHistory(run: SyncRun, options: SyncOptions): Promise<SyncResult> {
  const owner = ownerOf(run.contextOwner())
  const path = mirrorPath(mirrorsDirectory(run.directories), owner)
  const user = await run.user()
  const release = lockMirror(path)
  try {
    await replaceMirrorOfOther(path, user, run)
    const mirror = new Mirror(path, owner)
    try {
      if (user !== undefined) mirror.setUser(user)
      return await fillMirror(mirror, run, options)
    } finally {
      mirror.close()
    }
  } finally {
    release()
  }
}

/** Deletes the mirror of another user, if the user agrees. @throws as `demandMirror`; Failure `storage` */
async function replaceMirrorOfOther(path: string, user: string | undefined, run: SyncRun): Promise<void> {
  if (!existsSync(path)) return
  const { store, facts } = openToSearch(path)
  store.close()
  if (!(await demandMirror(path, facts, run, user, 'Replace the mirror?'))) removeDatabase(path)
}

async function fillMirror(
  mirror: Mirror,
  run: SyncRun,
  { isFull, ...selection }: SyncOptions,
): Promise<SyncResult> {
  const startedAt = run.clock.now()
  const { messages: before, isIncomplete } = mirror.facts()
  const kept = () => `The mirror has ${countOf(mirror.facts().messages, 'message')}.`
  if (isFull) mirror.restart(true)
  else if (before > 0 && isIncomplete) run.say(`Resuming an interrupted sync. ${kept()}`)
  try {
    const mayLack = await fetchHistory(run, mirror, selection)
    const added = mirror.facts().messages - before
    const isWhole = mirror.parts.at(-1)?.ending === 'ended' && !mayLack
    mirror.finish(startedAt, mayLack)
    const facts = mirror.facts()
    return { facts, path: mirror.path, added, removed: before + added - facts.messages, isWhole }
  } catch (error) {
    if (mirror.facts().messages > 0) run.say(`${kept()} To continue, run the same command.`)
    throw error
  }
}
