import { readdirSync } from 'node:fs'

/** One file for each process, so that two services on one directory do not hide each other. */
const recordName = /^running-\d+\.json$/

/** The names of the records of service processes in a data directory (service/run-record.ts). */
export function listRunRecords(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => recordName.test(name))
      .sort()
  } catch {
    return []
  }
}
