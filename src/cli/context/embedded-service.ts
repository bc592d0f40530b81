import { changeConfiguration } from '../../config/configuration-file.ts'
import { withValue } from '../../config/configuration-keys.ts'
import { resolveUpstream, type UpstreamChoice, type UpstreamFlags } from '../../config/resolve-upstream.ts'
import type { LocalModelServer } from '../../contract/upstream-address.ts'
import type { JoinableService } from '../../service/find-joinable-service.ts'
import type { DetectedModelServer } from '../../service/upstream/detect-model-servers.ts'
import type { Directories } from '../../system/files/directories.ts'
import { listRunRecords } from '../../system/files/run-record-files.ts'
import { once } from '../../system/once.ts'
import { offlineNotices } from '../errors/hints.ts'
import type { BaseContext } from './base-context.ts'
import type { LocalService } from './connection.ts'

/** The base URL of the service in this process, which does not listen. */
export const ownUrl = 'http://localhost'

/**
 * The embedded service, as the service that a run sends requests to. Looks for a running one before each request,
 * because it may end during a session, and another program may get its port. Once this process has opened the
 * service, it stays with it.
 */
export class EmbeddedService {
  readonly #base: BaseContext
  /** The upstream that the user has chosen in this run. */
  #chosen: string | undefined
  #isOpened = false
  #answering: LocalService | undefined
  readonly #open = once(() => this.#openHere())

  constructor(base: BaseContext) {
    this.#base = base
  }

  /**
   * The model server of the embedded service.
   *
   * @param flags those of the command, if it has any
   */
  upstream(flags: UpstreamFlags = { name: '' }): UpstreamChoice {
    const { configuration, env, resolvePath } = this.#base
    const stored =
      this.#chosen === undefined ? configuration : withValue(configuration, null, 'upstream', this.#chosen)
    return resolveUpstream(flags, env, stored, resolvePath)
  }

  /** Stores the choice of the user. It also applies to this run if it cannot be stored. @throws Failure `storage` */
  async rememberUpstream(value: string): Promise<void> {
    this.#chosen = value
    await changeConfiguration(this.#base.directories, (known) => withValue(known, null, 'upstream', value))
  }

  /** The running service that would answer requests, unless the environment chooses another upstream for this run. */
  async findRunningService(): Promise<JoinableService | undefined> {
    if (this.#isOpened) return undefined
    const directory = defaultDataDirectory(this.#base.directories)
    if (directory === undefined || listRunRecords(directory).length === 0) return undefined
    const { findJoinableService } = await import('../../service/find-joinable-service.ts')
    const running = await findJoinableService(directory)
    if (!running) return undefined
    const { source, server } = this.upstream()
    return source === 'environment' && (server?.url ?? null) !== running.upstream ? undefined : running
  }

  /** The service for the next request. */
  async next(): Promise<LocalService> {
    const running = await this.findRunningService()
    this.#isOpened ||= running === undefined
    this.#answering = running
      ? { ...running, running, handle: undefined, upstreamFrom: undefined }
      : await this.#open()
    return this.#answering
  }

  /** The service that `next` returned last. */
  get answering(): LocalService | undefined {
    return this.#answering
  }

  /** Opens the service in this process until the command ends. */
  async #openHere(): Promise<LocalService> {
    const { host, directories, output, onClose } = this.#base
    const choice = this.upstream()
    const { openEmbeddedService } = await import('../../service/open-embedded-service.ts')
    const { env, clock } = host
    const service = await openEmbeddedService({
      dataDir: directories.data,
      upstream: choice.server,
      env,
      clock,
      offlineNotice: offlineNotices.local,
    })
    onClose(() => service.close())
    if (service.created) output.notice(`Using the embedded service. Its data is in ${service.dataDir}`)
    const { key, request: handle } = service
    const upstream = choice.server?.url ?? null
    return { url: ownUrl, key, upstream, running: undefined, handle, upstreamFrom: choice }
  }

  /** The model servers that run on this machine (default: of those that are known). */
  async detectModelServers(
    servers: readonly LocalModelServer[] = this.#base.host.modelServers,
  ): Promise<DetectedModelServer[]> {
    const { detectModelServers } = await import('../../service/upstream/detect-model-servers.ts')
    return detectModelServers(servers)
  }

  /** Asks a model server for its models, without the embedded service. @throws Failure `unreachable`, `config` */
  async countUpstreamModels(server: NonNullable<UpstreamChoice['server']>): Promise<number> {
    const { countModels } = await import('../../service/upstream/count-models.ts')
    return countModels(server, this.#base.host.clock, this.#base.signal)
  }
}

/** @returns undefined without a home directory, which a service with `--data` does not need */
export function defaultDataDirectory(directories: Directories): string | undefined {
  try {
    return directories.data
  } catch {
    return undefined
  }
}
