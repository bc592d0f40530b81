import { closeSync, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterColon, Failure, type FailureKind, type Help } from '../../contract/failure.ts'
import { describeSystemError } from '../describe-system-error.ts'
import { leaveSignalsToSystem } from '../leave-signals-to-system.ts'
import { findOpenPart } from './private-directory.ts'

/** Maximum sizes in bytes. Without a maximum, `/dev/zero` or an endless pipe would fill the memory. */
export const maxSecretBytes = 64 * 1024
export const maxPemBytes = 1024 * 1024
export const maxPromptBytes = 1024 * 1024
export const maxSettingsBytes = 4 * 1024 * 1024
export const maxTextBytes = 64 * 1024 * 1024

interface NamedFile {
  /** Path to open (default: the path that errors name). */
  at?: string
  /** The subject of an error message, with the path (default: the path). */
  name?: string
  maxBytes: number
  /** What to do about a file that is too large. */
  ifTooLarge?: Help
  /** Whether to refuse a file that other users can change or replace: they could put their own secret there. */
  isSecret?: boolean
  /** Another user that may own it, and the directories above it. */
  owner?: number | undefined
  /** Whether to refuse a named pipe, for which reading would wait, and a device. */
  isRegular?: boolean
  kind: FailureKind
}

/** A pipe that the shell has opened, as for `<(…)`. Reading waits only for a program that is running. */
export const openDescriptor = /^\/(dev|proc\/self)\/fd\/\d+$/

/**
 * Reads a file that a flag or a variable names. It may be a named pipe or a process substitution, `<(…)`.
 * Then this waits for the writer, and a signal ends the process.
 * @throws Failure of `kind` if the file cannot be read, is too large, or is a secret that other users
 *   can change
 */
export function readNamedFile(path: string, file: NamedFile): Buffer {
  const { at, name, isSecret, isRegular, kind } = file
  const subject = name ?? path
  const object = name === undefined ? path || 'a file with an empty name' : afterColon(name)
  return leaveSignalsToSystem(() => {
    let descriptor: number | undefined
    try {
      // Before it is opened, because that waits for the writer of a named pipe.
      if (isRegular) demandRegular(statSync(at ?? path), object, kind)
      descriptor = openSync(at ?? path, 'r')
      if (isSecret) demandOursAlone(at ?? path, subject, kind, file.owner)
      return readAll(descriptor, subject, file)
    } catch (cause) {
      if (cause instanceof Failure) throw cause
      throw new Failure(kind, `Cannot read ${object}: ${describeSystemError(cause)}`, { cause })
    } finally {
      if (descriptor !== undefined) closeSync(descriptor)
    }
  })
}

/** @throws Failure of `kind` */
export function demandSize(
  bytes: number,
  maxBytes: number,
  subject: string,
  kind: FailureKind,
  help?: Help,
): void {
  if (bytes <= maxBytes) return
  const KiB = maxBytes / 1024
  const size = KiB % 1 ? `${maxBytes} bytes` : KiB % 1024 ? `${KiB} KiB` : `${KiB / 1024} MiB`
  throw new Failure(kind, `${subject} is larger than ${size}`, help)
}

function readAll(descriptor: number, subject: string, { maxBytes, kind, ifTooLarge }: NamedFile): Buffer {
  demandSize(fstatSync(descriptor).size, maxBytes, subject, kind, ifTooLarge)
  // One buffer, because a pipe may deliver single bytes, and a chunk for each needs more memory.
  let bytes = Buffer.allocUnsafe(64 * 1024)
  for (let total = 0; ; ) {
    if (total === bytes.length) bytes = Buffer.concat([bytes], 2 * total)
    const length = readSync(descriptor, bytes, { offset: total })
    if (length === 0) return bytes.subarray(0, total)
    total += length
    demandSize(total, maxBytes, subject, kind, ifTooLarge)
  }
}

/** A directory fails with the error of the system when it is read. */
function demandRegular(stats: Stats, object: string, kind: FailureKind): void {
  if (stats.isFile() || stats.isDirectory()) return
  throw new Failure(
    kind,
    `Cannot read ${object}: it is a ${stats.isFIFO() ? 'named pipe' : 'device'}, not a regular file`,
  )
}

/** @throws Failure of `kind` if another user than this one and root can change or replace a file */
export function demandOursAlone(path: string, subject: string, kind: FailureKind, owner?: number): void {
  const part = findOpenPart(path, owner)
  if (!part) return
  const isItself = part.path === resolve(path)
  const why = part.isForeign
    ? `${isItself ? 'it' : part.path} belongs to another user`
    : `other users can write to ${isItself ? 'it' : part.path} (mode ${part.mode})`
  const newOwner = part.isForeign ? process.getuid?.() : undefined
  // A directory of another user is for others too, such as a home directory, or the checkout of a CI job.
  const help: Help =
    part.isForeign && !isItself
      ? { hint: 'Copy the file to a directory that only you can change.' }
      : { advice: [{ code: 'only_owner_writes', path: part.path, owner: newOwner }] }
  throw new Failure(kind, `${subject} is not used: ${why}`, help)
}
