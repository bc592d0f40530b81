import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import { afterColon, Failure, type FailureKind, type Help } from '../../contract/failure.ts'
import { describeSystemError } from '../describe-system-error.ts'
import { leaveSignalsToSystem } from '../leave-signals-to-system.ts'

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
  /** Whether to refuse a file that other users can write: they could put their own secret there. */
  isSecret?: boolean
  /** Whether to refuse a named pipe, for which reading would wait, and a device. */
  isRegular?: boolean
  /** Maximum wait in ms for a program that writes to a named pipe (default and maximum: 10 seconds). */
  maxWait?: number
  kind: FailureKind
}

/** A pipe that the shell has opened, as for `<(…)`. Reading waits only for a program that is running. */
export const openDescriptor = /^\/(dev|proc\/self)\/fd\/\d+$/

/** Time in ms between two reads of a pipe without data. */
const pause = 10

/**
 * Reads a file that a flag or a variable names. It may be a named pipe or a process substitution, `<(…)`.
 * Then reading waits for the writer, and a signal ends the process.
 *
 * @throws Failure of `kind` if the file cannot be read, is too large, is a secret that other users can
 *   write, or is a named pipe without a writer
 */
export function readNamedFile(path: string, file: NamedFile): Buffer {
  const { at, name, isSecret, isRegular, kind } = file
  const subject = name ?? path
  const object = name === undefined ? path || 'a file with an empty name' : afterColon(name)
  return leaveSignalsToSystem(() => {
    let descriptor: number | undefined
    try {
      // O_NONBLOCK has no effect on a regular file, and Windows does not have it.
      descriptor = openSync(at ?? path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
      if (isRegular) demandRegular(fstatSync(descriptor), object, kind)
      if (isSecret) demandOnlyOwnerWrites(descriptor, path, subject, kind)
      return readAll(descriptor, at ?? path, subject, file)
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

function readAll(descriptor: number, path: string, subject: string, file: NamedFile): Buffer {
  const { maxBytes, kind, ifTooLarge, maxWait = 10_000 } = file
  const stats = fstatSync(descriptor)
  demandSize(stats.size, maxBytes, subject, kind, ifTooLarge)
  // Without a writer, a named pipe is at its end.
  let hasWriter = !stats.isFIFO() || openDescriptor.test(path)
  // One buffer, because a pipe may deliver single bytes, and a chunk for each needs more memory.
  let bytes = Buffer.allocUnsafe(64 * 1024)
  for (let total = 0, waited = 0; ; ) {
    if (total === bytes.length) bytes = Buffer.concat([bytes], 2 * total)
    const length = readAvailable(descriptor, bytes, total)
    if (length === 0 && hasWriter) return bytes.subarray(0, total)
    hasWriter ||= length !== 0
    if (!hasWriter && waited >= Math.min(maxWait, 10_000)) throw new Error('no program writes to this pipe')
    total += length ?? 0
    demandSize(total, maxBytes, subject, kind, ifTooLarge)
    if (length) continue
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause)
    waited += pause
  }
}

/** @returns undefined if the writer of a pipe has written nothing more yet */
function readAvailable(descriptor: number, bytes: Buffer, offset: number): number | undefined {
  try {
    return readSync(descriptor, bytes, { offset })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined
    throw error
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

/** Like ssh for its configuration. Windows has access control lists instead of modes. */
function demandOnlyOwnerWrites(descriptor: number, path: string, subject: string, kind: FailureKind): void {
  const stats = fstatSync(descriptor)
  if (process.platform === 'win32' || !(stats.isFile() || stats.isFIFO())) return
  if ((stats.mode & 0o022) === 0) return
  const mode = (stats.mode & 0o777).toString(8).padStart(4, '0')
  throw new Failure(kind, `${subject} is not used: other users can write to it (mode ${mode})`, {
    advice: [{ code: 'only_owner_writes', path }],
  })
}
