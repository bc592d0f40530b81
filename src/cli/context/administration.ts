import type { ModelServerChoice } from '../../config/resolve-model-server.ts'
import { Failure } from '../../contract/failure.ts'
import type { Administration } from '../../service/administration/administration.ts'
import type { OtherService } from '../../service/run-record.ts'
import type { RunningService, ServiceOptions } from '../../service/start-service.ts'
import { maxSecretBytes, readNamedFile } from '../../system/files/read-named-file.ts'
import { findSystemUser } from '../../system/system-user.ts'
import { commandLine, databaseFlagOf } from '../command-line.ts'
import { testProgramNotices } from '../errors/hints.ts'
import { resolvePath } from '../host.ts'
import type { BaseContext } from './base-context.ts'
import { refuseOtherService } from './target.ts'

export interface DatabaseFlags {
  data?: string | undefined
  database?: string | undefined
}

type StartOptions = Omit<ServiceOptions, 'dataDir' | 'announce' | 'modelServer'> & {
  dataDir?: string | undefined
  modelServer: ModelServerChoice
}

/** For the commands that run the embedded service, or open its data on this machine. */
export class ServiceAdministration {
  readonly #base: BaseContext

  constructor(base: BaseContext) {
    this.#base = base
  }

  /** The PostgreSQL URL: that of a flag, or else that in the file which the environment names. */
  databaseOf(given: string | undefined): string | undefined {
    return given ?? readDatabaseFile(this.#base)
  }

  /** Starts the embedded service, with a file by which commands on this machine find it. */
  async startService({ dataDir, modelServer: { server }, ...rest }: StartOptions): Promise<RunningService> {
    const { options, host, directories } = this.#base
    refuseOtherService(options)
    const { startService } = await import('../../service/start-service.ts')
    return startService({
      ...rest,
      dataDir: dataDir === undefined ? directories.data : resolvePath(host, dataDir),
      modelServer: server,
      env: host.env,
      clock: host.clock,
      announce: { onExit: host.onExit },
      testProgramNotice: testProgramNotices.running,
    })
  }

  /**
   * Opens the data of the embedded service for a change. A change of a database that the service on this machine does
   * not use would have no effect on it, so it is refused unless the command names the database.
   * @throws Failure `usage`
   */
  async openToChange(place: DatabaseFlags): Promise<Administration> {
    return this.#demandNoOther(
      this.#resolved(place),
      ({ place: used }) => `Use its database with: ${databaseFlagOf(used)}`,
    )
  }

  /** The same for the data of the profile `local`, which no flag or environment variable names. */
  async openOwnToChange(): Promise<Administration> {
    return this.#demandNoOther(
      {},
      ({ url }) => `Change it with: ${commandLine('auth', 'login', '--base-url', url)}`,
    )
  }

  /** Opens the data only to look for the service that runs on it. */
  async openToFindService(place: DatabaseFlags): Promise<Administration> {
    return this.#open(this.#resolved(place))
  }

  /** Opens the data to read it. Warns of a service on another database. */
  async openToRead(place: DatabaseFlags): Promise<Administration> {
    const resolved = this.#resolved(place)
    const opened = await this.#openIfAny(resolved)
    const other = await findOther(opened, resolved)
    if (other) {
      await this.#base.output.warn(
        `The service at ${other.url} uses ${other.place}. Read that database with: ${databaseFlagOf(other.place)}`,
      )
    }
    return opened
  }

  /** The same for the data of the profile `local`. Returns a service on another database instead. */
  async openOwnToRead(): Promise<{ administration: Administration; other: OtherService | undefined }> {
    const administration = await this.#openIfAny({})
    return { administration, other: await findOther(administration, {}) }
  }

  async #demandNoOther(
    place: DatabaseFlags,
    describeAlternative: (other: OtherService) => string,
  ): Promise<Administration> {
    const opened = await this.#open(place)
    const other = await findOther(opened, place)
    if (!other) return opened
    const message = `The service at ${other.url} uses ${other.place}, but this command would use ${opened.place}`
    throw new Failure('usage', message, { hint: describeAlternative(other) })
  }

  /** A notice says if there is no data yet. */
  async #openIfAny(place: DatabaseFlags): Promise<Administration> {
    const opened = await this.#open(place)
    const missing = await opened.findMissingDatabase()
    if (missing) this.#base.output.notice(`No data in ${missing} yet`)
    return opened
  }

  async #open({ data, database }: DatabaseFlags): Promise<Administration> {
    const { options, directories, env, host, onClose, dryRun } = this.#base
    refuseOtherService(options)
    const { openAdministration } = await import('../../service/administration/administration.ts')
    const place = { dataDir: data ?? directories.data, database, env }
    const administration = await openAdministration(place, host.clock, dryRun, findSystemUser(env))
    onClose(() => administration.close())
    return administration
  }

  #resolved({ data, database }: DatabaseFlags): DatabaseFlags {
    return {
      data: data === undefined ? undefined : resolvePath(this.#base.host, data),
      database: this.databaseOf(database),
    }
  }
}

async function findOther(
  opened: Administration,
  { database }: DatabaseFlags,
): Promise<OtherService | undefined> {
  if (database !== undefined) return undefined
  const [other] = await opened.findOtherServices()
  return other
}

/**
 * The URL in the file that `CHATCTL_DATABASE_FILE` names, if `--database` and `CHATCTL_DATABASE` are not given.
 * PGPASSFILE is of no use in containers: libpq refuses files that a group can read, as secrets there can be.
 * @throws Failure `config` if the file cannot be read, is writable by other users, or is empty
 */
function readDatabaseFile({ env, resolvePath }: BaseContext): string | undefined {
  const path = env['CHATCTL_DATABASE_FILE']
  if (!path) return undefined
  const name = `CHATCTL_DATABASE_FILE: ${path}`
  const at = resolvePath(path)
  const file = { at, name, maxBytes: maxSecretBytes, isSecret: true, kind: 'config' } as const
  const url = readNamedFile(path, file).toString('utf8').trim()
  if (url === '') throw new Failure('config', `${name} is empty`)
  return url
}
