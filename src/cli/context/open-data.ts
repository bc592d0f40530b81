import { Failure } from '../../contract/failure.ts'
import type { Directories } from '../../system/files/directories.ts'
import { maxSecretBytes, readNamedFile } from '../../system/files/read-named-file.ts'
import { databaseFlagOf } from '../command-line.ts'
import type { Output } from '../output/output.ts'

/** Values of `--data` and `--database`. */
export interface DatabaseFlags {
  data?: string | undefined
  database?: string | undefined
}

/** A service that runs on this machine, and its database. */
interface RunningService {
  url: string
  /** A file, or `postgres://host:port/name` without a password. */
  place: string
}

interface Data {
  readonly place: string
  /** Services of this user on other databases. */
  findOtherServices(isNamed: boolean): Promise<RunningService[]>
  /** Where the data would be, if there is none yet. */
  findMissingDatabase(): Promise<string | undefined>
}

export type OnOtherService = (other: RunningService) => unknown

/** Opens the data of the embedded service on this machine. */
type OpenData<D> = (place: { dataDir: string; database: string | undefined }) => Promise<D>

/**
 * For a command that changes the data. A change of a database that the service on this machine does
 * not use would have no effect on it, so it is refused unless the command names the database.
 *
 * @param describeAlternative an exact next step, for the hint
 * @throws Failure `usage`
 */
export async function openToChange<D extends Data>(
  open: OpenData<D>,
  directories: Directories,
  { data, database }: DatabaseFlags,
  describeAlternative = (other: RunningService) => `Use its database with: ${databaseFlagOf(other.place)}`,
): Promise<D> {
  const opened = await open({ dataDir: data ?? directories.data, database })
  const other = await findOther(opened, { data, database })
  if (!other) return opened
  const message = `The service at ${other.url} uses ${other.place}, but this command would use ${opened.place}`
  throw new Failure('usage', message, { hint: describeAlternative(other) })
}

/**
 * For a command that only reads. A notice says if there is no data yet.
 *
 * @param tell receives a service on another database; by default, a warning is shown
 */
export async function openToRead<D extends Data>(
  open: OpenData<D>,
  directories: Directories,
  { data, database }: DatabaseFlags,
  output: Output,
  tell: OnOtherService = (other) =>
    output.warn(
      `The service at ${other.url} uses ${other.place}. Read that database with: ${databaseFlagOf(other.place)}`,
    ),
): Promise<D> {
  const opened = await open({ dataDir: data ?? directories.data, database })
  const other = await findOther(opened, { data, database })
  if (other) await tell(other)
  const missing = await opened.findMissingDatabase()
  if (missing) output.notice(`No data in ${missing} yet`)
  return opened
}

async function findOther(
  opened: Data,
  { data, database }: DatabaseFlags,
): Promise<RunningService | undefined> {
  if (database !== undefined) return undefined
  const [other] = await opened.findOtherServices(data !== undefined)
  return other
}

/**
 * The URL in the file that `CHATCTL_DATABASE_FILE` names, if `--database` and `CHATCTL_DATABASE` are not given.
 * PGPASSFILE is of no use in containers: libpq refuses files that a group can read, as secrets there can be.
 *
 * @throws Failure `config` if the file cannot be read, is writable by other users, or is empty
 */
export function readDatabaseFile(
  env: NodeJS.ProcessEnv,
  resolvePath: (name: string) => string,
): string | undefined {
  const path = env['CHATCTL_DATABASE_FILE']
  if (!path) return undefined
  const name = `CHATCTL_DATABASE_FILE: ${path}`
  const file = {
    at: resolvePath(path),
    name,
    maxBytes: maxSecretBytes,
    isSecret: true,
    kind: 'config',
  } as const
  const url = readNamedFile(path, file).toString('utf8').trim()
  if (url === '') throw new Failure('config', `${name} is empty`)
  return url
}

/** @returns undefined without a home directory, which a service with `--data` does not need */
export function defaultDataDirectory(directories: Directories): string | undefined {
  try {
    return directories.data
  } catch {
    return undefined
  }
}
