import { dirname, join } from 'node:path'
import { digestOf } from '../client/history/message-keys.ts'
import type { ContextOwner } from '../config/last-context.ts'
import { Failure } from '../contract/failure.ts'
import type { Directories } from '../system/files/directories.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { tryProcessLock } from '../system/files/process-lock.ts'
import { storageError } from './message-database.ts'

/** Whose history a mirror contains. */
export interface MirrorOwner {
  profile: string | null
  /** Null for the embedded service. */
  baseUrl: string | null
}

/** The directory of the mirrors, and of the index of transcripts. */
export function mirrorsDirectory({ data }: Directories): string {
  return join(data, 'mirrors')
}

export function ownerOf({ profile, baseUrl }: ContextOwner): MirrorOwner {
  return { profile: profile ?? null, baseUrl: baseUrl ?? null }
}

/** The file of a mirror. */
export function mirrorPath(directory: string, { profile, baseUrl }: MirrorOwner): string {
  return join(directory, `${digestOf([JSON.stringify([profile, baseUrl])])}.db`)
}

/** @throws Failure `conflict` if another process syncs this mirror, `storage` */
export function lockMirror(mirror: string): () => void {
  const directory = dirname(mirror)
  const path = mirror.replace(/\.db$/, '.lock')
  let release: (() => void) | undefined
  try {
    makePrivateDirectory(directory)
    release = tryProcessLock(path)
  } catch (error) {
    throw storageError(directory, error)
  }
  if (release) return release
  throw new Failure('conflict', 'Another chatctl process is syncing this history', {
    hint: 'Wait until it has ended. It holds the lock of the mirror.',
  })
}
