import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { orElse } from '../contract/or-else.ts'
import { type Clock, isoNow } from '../system/clock.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { replaceFile } from '../system/files/replace-file.ts'
import { isRunning } from '../system/is-running.ts'

/** A service process, as its record in the data directory describes it. */
export interface RunRecord {
  url: string
  pid: number
  /** Null if it has no admin port. */
  admin_url: string | null
  /** The version of chatctl. */
  version: string | null
  /** ISO 8601. */
  started_at: string | null
}

/** The content of the file. */
interface WrittenRecord extends RunRecord {
  /** `Store.location`. */
  place: string
}

/** A service that runs on another database than the one in question. */
export interface OtherService {
  url: string
  /** Without a password. */
  place: string
}

export interface Announcement {
  /** Calls `cleanup` if the process ends before the service is closed. Returns a function that removes `cleanup`. */
  onExit?(cleanup: () => void): () => void
}

/**
 * Writes the record of this process into the data directory, and removes the records of dead processes.
 * @returns removes the record
 */
export function announceRun(
  directory: string,
  details: Omit<WrittenRecord, 'pid' | 'started_at'>,
  { onExit }: Announcement,
  clock: Clock,
): () => void {
  // With a database on another server, nothing else has created the directory.
  makePrivateDirectory(directory)
  for (const name of listRecords(directory)) {
    const known = readRecord(join(directory, name))
    if (!known || !isRunning(known.pid, true)) rmSync(join(directory, name), { force: true, recursive: true })
  }
  const record: WrittenRecord = { ...details, pid: process.pid, started_at: isoNow(clock) }
  const file = join(directory, `running-${process.pid}.json`)
  replaceFile(file, `${JSON.stringify(record)}\n`, { flush: false })
  // The process may end before the service is closed: after EPIPE on stdout, or a second Ctrl-C.
  const withdrawCleanup = onExit?.(() => {
    try {
      rmSync(file, { force: true })
    } catch {
      // Readers of the record check that the process is alive.
    }
  })
  return () => {
    rmSync(file, { force: true })
    withdrawCleanup?.()
  }
}

/** The services that run on a data directory and a database. A record of a dead process does not count. */
export async function findRunningServices(directory: string, location: string): Promise<RunRecord[]> {
  const records = (await liveRecords(directory)).filter(({ place }) => isSameDatabase(place, location))
  return records.map(({ place: _, ...record }) => record)
}

/** The services on a data directory that run on another database than `location`, if none runs on `location`. */
export async function findOtherServices(directory: string, location: string): Promise<OtherService[]> {
  const records = await liveRecords(directory)
  if (records.some(({ place }) => isSameDatabase(place, location))) return []
  return records.map(({ url, place }) => ({ url, place }))
}

async function liveRecords(directory: string): Promise<WrittenRecord[]> {
  const found: WrittenRecord[] = []
  for (const name of listRecords(directory)) {
    const record = readRecord(join(directory, name))
    if (record && isRunning(record.pid, true) && (await isListening(record.url))) found.push(record)
  }
  return found
}

/** One file for each process, so that two services on one directory do not hide each other. */
function listRecords(directory: string): string[] {
  const names = orElse(() => readdirSync(directory), [])
  return names.filter((name) => /^running-\d+\.json$/.test(name)).sort()
}

/** Each directory has one database file, so two paths in one directory are the same file, also through links and mounts. */
const isSameDatabase = (one: string, other: string): boolean =>
  one === other || (isAbsolute(one) && isAbsolute(other))

function readRecord(file: string): WrittenRecord | null {
  const record = orElse(() => JSON.parse(readFileSync(file, 'utf8')), undefined)
  if (!URL.canParse(record?.url) || !Number.isInteger(record?.pid)) return null
  const { url, pid, admin_url = null, version = null, started_at = null, place } = record
  return { url, pid, admin_url, version, started_at, place: String(place) }
}

/** Another process may have the same pid, in a container already after a restart, so the port decides. */
function isListening(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const { connect } = process.getBuiltinModule('node:net')
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
