import { changeConfiguration } from '../../config/configuration-file.ts'
import { withValue } from '../../config/configuration-keys.ts'
import {
  type ModelServerChoice,
  type ModelServerFlags,
  resolveModelServer,
} from '../../config/resolve-model-server.ts'
import type { DetectedModelServer } from '../../service/replies/detect-model-servers.ts'
import { once } from '../../system/once.ts'
import { testProgramNotices } from '../errors/hints.ts'
import type { BaseContext } from './base-context.ts'
import type { LocalService } from './connection.ts'

/** The base URL of the service in this process, which does not listen. */
export const embeddedUrl = 'http://localhost'

/** The embedded service in this process, as the service that a run sends requests to. */
export class EmbeddedService {
  readonly #base: BaseContext
  /** The model server that the user has chosen in this run. */
  #chosen: string | undefined
  /** Opens the service until the command ends. */
  readonly open = once(() => this.#open())

  constructor(base: BaseContext) {
    this.#base = base
  }

  /** The model server of the embedded service. @param flags those of the command, if it has any */
  modelServer(flags: ModelServerFlags = { name: '' }): ModelServerChoice {
    const { configuration, env, resolvePath } = this.#base
    const stored =
      this.#chosen === undefined
        ? configuration
        : withValue(configuration, null, 'model_server', this.#chosen)
    return resolveModelServer(flags, env, stored, resolvePath)
  }

  /** Stores the choice of the user. It also applies to this run if it cannot be stored. @throws Failure `storage` */
  async rememberModelServer(value: string): Promise<void> {
    this.#chosen = value
    await changeConfiguration(this.#base.directories, (known) =>
      withValue(known, null, 'model_server', value),
    )
  }

  async #open(): Promise<LocalService> {
    const { host, directories, output, onClose } = this.#base
    const choice = this.modelServer()
    const { openEmbeddedService } = await import('../../service/open-embedded-service.ts')
    const { env, clock } = host
    const service = await openEmbeddedService({
      dataDir: directories.data,
      modelServer: choice.server,
      env,
      clock,
      testProgramNotice: testProgramNotices.local,
    })
    onClose(() => service.close())
    if (service.created) output.notice(`Using the embedded service. Its data is in ${service.dataDir}`)
    if (service.backup !== undefined)
      output.notice(`Migrated the data to this version. The data before that is in ${service.backup}`)
    const { key, request: handle } = service
    return { key, handle, modelServer: choice.server?.url ?? null, modelServerFrom: choice }
  }

  /** The known model servers that run on this machine. */
  async detectModelServers(): Promise<DetectedModelServer[]> {
    const { detectModelServers } = await import('../../service/replies/detect-model-servers.ts')
    return detectModelServers(this.#base.host.modelServers)
  }

  /** Asks a model server for its models, without the embedded service. @throws Failure `unreachable`, `config` */
  async countModelServerModels(server: NonNullable<ModelServerChoice['server']>): Promise<number> {
    const { countModels } = await import('../../service/replies/openai-compatible.ts')
    const { host, signal } = this.#base
    return countModels({ ...server, env: host.env }, host.clock, signal)
  }
}
