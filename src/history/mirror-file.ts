import { join } from 'node:path'
import { digestOf } from '../client/history/message-keys.ts'
import type { ContextOwner } from '../config/last-context.ts'
import { Failure } from '../contract/failure.ts'
import type { Directories } from '../system/files/directories.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { tryProcessLock } from '../system/files/process-lock.ts'
import { storageError } from './storage-error.ts'

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

/** The name of the files of a mirror, without `.db`. */
export function nameOf({ profile, baseUrl }: MirrorOwner): string {
  return digestOf([JSON.stringify([profile, baseUrl])])
}

/** @throws Failure `conflict` if another process syncs this mirror, `storage` */
export function lockMirror(directory: string, name: string): () => void {
  const path = join(directory, `${name}.lock`)
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

/** @throws Failure `conflict` if the mirror is of another service or profile, as after it was copied */
export function demandOwner(path: string, found: MirrorOwner, wanted: MirrorOwner): void {
  if (found.baseUrl === wanted.baseUrl && found.profile === wanted.profile) return
  throw new Failure(
    'conflict',
    `The mirror ${path} is of ${describeOwner(found)}, not of ${describeOwner(wanted)}`,
    { hint: 'Move the file elsewhere. chatctl then creates a mirror of this service.' },
  )
}

function describeOwner({ baseUrl, profile }: MirrorOwner): string {
  if (baseUrl === null) return 'the embedded service'
  return profile === null ? baseUrl : `${baseUrl} (profile "${profile}")`
}
