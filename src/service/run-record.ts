import { rmSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { isAbsolute, join } from 'node:path'

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

/** One file for each process, so that of two services on one folder neither hides the other. */
const recordName = /^running-\d+\.json$/
const recordFile = (folder: string) => join(folder, `running-${process.pid}.json`)

/** Says in the data folder that this process serves it, and forgets those that died saying so. */
export async function announceRun(
  folder: string,
  said: Pick<WrittenRecord, 'url' | 'admin_url' | 'version' | 'place'>,
): Promise<void> {
  // Nothing else has made it where the database lies elsewhere.
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const name of await listRecords(folder)) {
    const record = await readRecord(join(folder, name))
    if (!record || !isAlive(record.pid)) await rm(join(folder, name), { force: true, recursive: true })
  }
  const aside = `${recordFile(folder)}.tmp`
  const record: WrittenRecord = { ...said, pid: process.pid, started_at: new Date().toISOString() }
  await writeFile(aside, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  await rename(aside, recordFile(folder))
  process.once('exit', () => withdrawAtOnce(folder))
}

/** Where the process ends before the service does: the reader of its stdout is gone, or a second Ctrl-C came. */
function withdrawAtOnce(folder: string): void {
  try {
    rmSync(recordFile(folder), { force: true })
  } catch {
    // Whoever finds it sees that this process is gone.
  }
}

export async function withdrawRun(folder: string): Promise<void> {
  await rm(recordFile(folder), { force: true })
}

/** The services that run on a data folder and a database; one that died without withdrawing does not count. */
export async function findRuns(folder: string, place: string): Promise<RunRecord[]> {
  const found: RunRecord[] = []
  for (const name of await listRecords(folder)) {
    const record = await readRecord(join(folder, name))
    if (!record || !isSamePlace(record.place, place)) continue
    if (!isAlive(record.pid) || !(await answers(record.url))) continue
    const { place: _, ...shown } = record
    found.push(shown)
  }
  return found
}

/** Of one folder there is one file, whatever the folder is called: links and mounts lead to it, too. */
const isSamePlace = (one: string, other: string): boolean =>
  one === other || (isAbsolute(one) && isAbsolute(other))

async function listRecords(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => recordName.test(name)).sort()
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
function answers(url: string): Promise<boolean> {
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
