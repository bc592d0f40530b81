import { readdirSync } from 'node:fs'
import { orElse } from '../../contract/or-else.ts'

/** One file for each process, so that two services on one directory do not hide each other. */
const recordName = /^running-\d+\.json$/

/** The names of the records of service processes in a data directory (service/run-record.ts). */
export function listRunRecords(directory: string): string[] {
  const names = orElse(() => readdirSync(directory), [])
  return names.filter((name) => recordName.test(name)).sort()
}
