import { readdirSync } from 'node:fs'

/**
 * One file for each process, so that two services on one directory do not hide each other. In the
 * user's default data directory, `elsewhere-…` is the record of a service on another directory.
 */
const recordName = /^(running|elsewhere)-\d+\.json$/

/** The names of the records of running services in a data directory (service/run-record.ts). */
export function listRunRecords(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => recordName.test(name))
      .sort()
  } catch {
    return []
  }
}
