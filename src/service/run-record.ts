import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'

/** Where a service that announced itself can be reached. */
export interface RunRecord {
  url: string
  pid: number
}

const recordFile = (folder: string) => join(folder, 'running.json')

/** Says in the data folder that this process serves it; a later one in the same folder takes over. */
export async function announceRun(folder: string, url: string): Promise<void> {
  const aside = `${recordFile(folder)}.${process.pid}`
  const record: RunRecord = { url, pid: process.pid }
  await writeFile(aside, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  await rename(aside, recordFile(folder))
}

/** Takes this process's record away, and nobody else's. */
export async function withdrawRun(folder: string): Promise<void> {
  const record = await readRecord(folder)
  if (record?.pid === process.pid) await rm(recordFile(folder), { force: true })
}

/** The service that runs on a data folder; one that died without withdrawing does not count. */
export async function findRun(folder: string): Promise<RunRecord | null> {
  const record = await readRecord(folder)
  return record && isAlive(record.pid) && (await answers(record.url)) ? record : null
}

async function readRecord(folder: string): Promise<RunRecord | null> {
  try {
    const record = JSON.parse(await readFile(recordFile(folder), 'utf8'))
    const isRecord = URL.canParse(record?.url) && Number.isInteger(record?.pid)
    return isRecord ? { url: record.url, pid: record.pid } : null
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
