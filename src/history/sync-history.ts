import { existsSync } from 'node:fs'
import { type CollectOptions, collectHistory } from '../client/history/collect-history.ts'
import type { ContextOwner } from '../config/last-context.ts'
import type { Run } from '../run/run.ts'
import type { Clock } from '../system/clock.ts'
import type { Directories } from '../system/files/directories.ts'
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

export interface SyncOptions extends Pick<CollectOptions, 'history' | 'onFirstResponse' | 'onPage'> {
  directories: Directories
  owner: ContextOwner
  clock: Clock
  /** Whether to fetch all messages again, and remove those that the service no longer has. */
  isFull: boolean
  run: Pick<Run, 'user' | 'confirm'>
  /** Called if an interrupted sync is resumed. */
  onResume(messages: number): void
  /** Called if the position of an interrupted sync is no longer valid. */
  onRestart(): void
  /** Called after a failure with the number of messages that the mirror has. */
  onKept(messages: number): void
}

export interface SyncResult {
  facts: MirrorFacts
  path: string
  /** Number of new messages, and of those that the service no longer has. */
  added: number
  removed: number
  /** Whether more messages have the same time than fit on a page, so that some may be missing. */
  mayLack: boolean
}

/**
 * Fetches the messages that a mirror does not have yet, the newest first. If it ends early, the next sync
 * fetches newer messages first, and then continues where this one stopped.
 * @throws Failure `conflict` if another process syncs the same history, or if the mirror is of another user; `storage`
 */
export async function syncHistory(options: SyncOptions): Promise<SyncResult> {
  const { directories, clock } = options
  const owner = ownerOf(options.owner)
  const path = mirrorPath(mirrorsDirectory(directories), owner)
  const userId = await options.run.user()
  const release = lockMirror(path)
  try {
    await replaceMirrorOfOther(path, userId, options.run)
    const mirror = new Mirror(path, owner)
    try {
      if (userId !== undefined) mirror.setUser(userId)
      return await fillMirror(mirror, clock.now(), options)
    } finally {
      mirror.close()
    }
  } finally {
    release()
  }
}

/** Deletes the mirror of another user, if the user agrees. @throws as `demandMirror`; Failure `storage` */
async function replaceMirrorOfOther(path: string, user: string | undefined, run: SyncOptions['run']) {
  if (!existsSync(path)) return
  const { store, facts } = openToSearch(path)
  store.close()
  if (!(await demandMirror(path, facts, run, user, 'Replace the mirror?'))) removeDatabase(path)
}

async function fillMirror(mirror: Mirror, startedAt: number, options: SyncOptions): Promise<SyncResult> {
  const { messages: before, isIncomplete } = mirror.facts()
  if (options.isFull) mirror.restart(true)
  let mayLack = false
  const onAmbiguousTime = () => {
    mayLack = true
  }
  const collecting = { ...options, store: mirror, context: undefined, since: undefined, onAmbiguousTime }
  try {
    if (before > 0 && isIncomplete && !options.isFull) options.onResume(before)
    if (!(await collectHistory(collecting))) {
      options.onRestart()
      mirror.restart(false)
      await collectHistory(collecting)
    }
    const added = mirror.facts().messages - before
    mirror.finish(startedAt, mayLack)
    const facts = mirror.facts()
    return { facts, path: mirror.path, added, removed: before + added - facts.messages, mayLack }
  } catch (error) {
    const kept = mirror.facts().messages
    if (kept > 0) options.onKept(kept)
    throw error
  }
}
