import { rmSync } from 'node:fs'
import { readdir, readFile, realpath, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { isAbsolute, join } from 'node:path'
import { type Clock, isoNow } from '../system/clock.ts'
import { makePrivateDirectory } from '../system/private-directory.ts'
import { replaceFile } from '../system/replace-file.ts'

/** Where a service that announced itself can be reached. */
export interface RunRecord {
  url: string
  pid: number
  /** Null where it has none. */
  admin_url: string | null
  /** Of the program. */
  version: string | null
  /** ISO 8601. */
  started_at: string | null
}

/** The same as it lies in the data folder; `place` is the database, as `Store.place` has it. */
type WrittenRecord = RunRecord & { place: string }

/** A service that runs on another database than the one that was asked about. */
export interface OtherService {
  url: string
  /** Without a password. */
  place: string
}

export interface Announcement {
  /** The data directory of commands that name none, which gets a record too. */
  defaultDirectory?: string | undefined
  /** Calls `cleanup` where the process ends before the service does; returns what withdraws it. */
  onExit?(cleanup: () => void): () => void
}

/**
 * One file for each process, so that of two services on one directory neither hides the other. In the
 * user's default data directory a record with the name `elsewhere-…` is of a service on another one.
 */
const recordName = /^(running|elsewhere)-\d+\.json$/

/**
 * Records in the data directory that this process serves it, and drops the records of dead processes.
 * @returns removes the records
 */
export async function announceRun(
  directory: string,
  details: Pick<WrittenRecord, 'url' | 'admin_url' | 'version' | 'place'>,
  { defaultDirectory, onExit }: Announcement,
  clock: Clock,
): Promise<() => Promise<void>> {
  const record: WrittenRecord = { ...details, pid: process.pid, started_at: isoNow(clock) }
  const files = [await writeRecord(directory, 'running', record)]
  try {
    if (defaultDirectory !== undefined && !(await isSameDirectory(directory, defaultDirectory)))
      files.push(await writeRecord(defaultDirectory, 'elsewhere', record))
  } catch {
    // The service of a container or of a system user may have no home that it can write to.
  }
  // For a process that ends before the service does: the reader of its stdout is gone, or a second Ctrl-C came.
  const withdrawCleanup = onExit?.(() => {
    try {
      for (const file of files) rmSync(file, { force: true })
    } catch {
      // Readers of the record see that this process is gone.
    }
  })
  return async () => {
    for (const file of files) await rm(file, { force: true })
    withdrawCleanup?.()
  }
}

async function isSameDirectory(one: string, other: string): Promise<boolean> {
  makePrivateDirectory(other)
  return (await realpath(one)) === (await realpath(other))
}

async function writeRecord(directory: string, kind: string, record: WrittenRecord): Promise<string> {
  // Nothing else has made it where the database is on another server.
  makePrivateDirectory(directory)
  for (const name of await listRecords(directory)) {
    const known = await readRecord(join(directory, name))
    if (!known || !isAlive(known.pid)) await rm(join(directory, name), { force: true, recursive: true })
  }
  const file = join(directory, `${kind}-${process.pid}.json`)
  replaceFile(file, `${JSON.stringify(record)}\n`, { flush: false })
  return file
}

/** The services that run on a data directory and a database; one that died without withdrawing does not count. */
export async function findRunningServices(directory: string, location: string): Promise<RunRecord[]> {
  const records = await liveRecords(
    directory,
    (name, record) => isInOwnDirectory(name) && isSameDatabase(record.place, location),
  )
  return records.map(({ place: _, name: __, ...shown }) => shown)
}

/**
 * The services of this user that run on another database than `place`, when none runs on `place`.
 * @param named whether the directory was named: then only services on this directory count
 */
export async function findOtherServices(
  directory: string,
  location: string,
  named: boolean,
): Promise<OtherService[]> {
  const records = await liveRecords(directory, (name) => isInOwnDirectory(name) || !named)
  const isOther = ({ name, place: other }: { name: string; place: string }) =>
    !isInOwnDirectory(name) || !isSameDatabase(other, location)
  return records.every(isOther) ? records.map(({ url, place: other }) => ({ url, place: other })) : []
}

async function liveRecords(
  directory: string,
  matches: (name: string, record: WrittenRecord) => boolean,
): Promise<(WrittenRecord & { name: string })[]> {
  const found: (WrittenRecord & { name: string })[] = []
  for (const name of await listRecords(directory)) {
    const record = await readRecord(join(directory, name))
    if (!record || !matches(name, record) || !isAlive(record.pid)) continue
    if (await isListening(record.url)) found.push({ ...record, name })
  }
  return found
}

const isInOwnDirectory = (name: string): boolean => name.startsWith('running-')

/** Of one folder there is one file, whatever the folder is called: links and mounts lead to it, too. */
const isSameDatabase = (one: string, other: string): boolean =>
  one === other || (isAbsolute(one) && isAbsolute(other))

async function listRecords(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => recordName.test(name)).sort()
  } catch {
    return []
  }
}

async function readRecord(file: string): Promise<WrittenRecord | null> {
  try {
    const record = JSON.parse(await readFile(file, 'utf8'))
    const isRecord = URL.canParse(record?.url) && Number.isInteger(record?.pid)
    if (!isRecord) return null
    const { url, pid, admin_url = null, version = null, started_at = null } = record
    return { url, pid, admin_url, version, started_at, place: String(record.place) }
  } catch {
    return null
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it lives, under another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** A pid is soon given to another process, in a container at the next start: the port tells. */
function isListening(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), timeout: 1000 })
    const settle = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => settle(true))
    socket.once('timeout', () => settle(false))
    socket.once('error', () => settle(false))
  })
}
