import { closeSync, openSync, readFileSync, readSync, statSync, utimesSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import { removeLeftovers, replaceFile } from '../../system/files/replace-file.ts'
import { sessionIdOf } from './session-id.ts'
import { withStorageErrors } from './storage-errors.ts'
import { transcriptPaths } from './transcript-files.ts'
import { type LineOf, parseLine } from './transcript-line.ts'
import { lockTranscript } from './transcript-writer.ts'

/**
 * Gives all sessions of a profile to another profile. The time of their last use stays, because lists are in that
 * order.
 *
 * @returns how many there were, and the IDs of those that another process has open, which stay as they are
 * @throws Failure `storage`
 */
export function reassignTranscripts(
  directory: string,
  from: string,
  to: string,
): { moved: number; open: string[] } {
  const open: string[] = []
  let moved = 0
  for (const path of transcriptPaths(directory)) {
    if (firstLineOf(path)?.profile !== from) continue
    try {
      reassign(path, to)
      moved++
    } catch (error) {
      if (!(error instanceof Failure && error.kind === 'conflict')) throw error
      open.push(sessionIdOf(path))
    }
  }
  return { moved, open }
}

function reassign(path: string, profile: string): void {
  withStorageErrors(path, 'written', () => {
    const release = lockTranscript(path)
    try {
      const bytes = readFileSync(path)
      const { atime, mtime } = statSync(path)
      const end = bytes.indexOf(newline)
      const first = JSON.parse(bytes.toString('utf8', 0, end))
      const line = Buffer.from(JSON.stringify({ ...first, profile }))
      removeLeftovers(path)
      replaceFile(path, Buffer.concat([line, bytes.subarray(end)]), { flush: true })
      utimesSync(path, atime, mtime)
    } finally {
      release()
    }
  })
}

const newline = 0x0a

/** In bytes. The first line contains only names and times. */
const maxFirstLine = 16 * 1024

/** Undefined for a file that is not a transcript, or that cannot be read. */
function firstLineOf(path: string): LineOf<'session'> | undefined {
  const bytes = Buffer.alloc(maxFirstLine)
  let count: number
  try {
    const descriptor = openSync(path, 'r')
    try {
      count = readSync(descriptor, bytes, 0, maxFirstLine, 0)
    } finally {
      closeSync(descriptor)
    }
  } catch {
    return undefined
  }
  const end = bytes.subarray(0, count).indexOf(newline)
  const line = end < 0 ? undefined : parseLine(bytes.toString('utf8', 0, end))
  return line?.type === 'session' ? line : undefined
}
