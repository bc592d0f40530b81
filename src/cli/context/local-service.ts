import type { RequestHandler } from '../../client/network/process-transport.ts'
import type { UpstreamChoice } from '../../config/resolve-upstream.ts'
import { once } from '../../system/once.ts'

/** A service that runs on the same data in another process. */
interface RunningService {
  url: string
  key: string
  pid: number
  version: string | null
  /** The base URL of its model server; null for the built-in test program. */
  upstream: string | null
}

/** The embedded service in this process. */
interface OwnService {
  key: string
  handle: RequestHandler
}

/** The base URL of the service in this process, which does not listen. */
const ownUrl = 'http://localhost'

/** The embedded service that answers the requests of a run. */
export interface LocalService {
  url: string
  key: string
  /** The base URL of its model server; null for the built-in test program. */
  upstream: string | null
  /** The process that runs it; undefined for this one. */
  running: RunningService | undefined
  /** Answers the requests in this process; undefined if another process runs the service. */
  handle: RequestHandler | undefined
  /** Where this process has the upstream from. */
  upstreamFrom: UpstreamChoice | undefined
}

interface LocalServiceOptions {
  /** Looks for a service that runs on the same data. */
  find(): Promise<RunningService | undefined>
  /** Opens the service in this process. */
  open(choice: UpstreamChoice): Promise<OwnService>
  chooseUpstream(): UpstreamChoice
  /** Is told which one answers. */
  onAnswering(service: LocalService): void
}

/**
 * Looks for a running service before each request, because it may end during a session, and another program
 * may get its port. Once this process has opened the service, it stays with it.
 */
export class LocalServices {
  readonly #options: LocalServiceOptions
  readonly #open: () => Promise<LocalService>
  #isOpened = false
  #answering: LocalService | undefined

  constructor(options: LocalServiceOptions) {
    this.#options = options
    this.#open = once(async () => {
      const choice = options.chooseUpstream()
      const service = await options.open(choice)
      const upstream = choice.server?.url ?? null
      return { ...service, url: ownUrl, upstream, running: undefined, upstreamFrom: choice }
    })
  }

  /** A running service, unless the environment chooses another upstream for this run. */
  async find(): Promise<RunningService | undefined> {
    if (this.#isOpened) return undefined
    const running = await this.#options.find()
    if (!running) return undefined
    const { source, server } = this.#options.chooseUpstream()
    return source === 'environment' && (server?.url ?? null) !== running.upstream ? undefined : running
  }

  /** The service for the next request. */
  async next(): Promise<LocalService> {
    const running = await this.find()
    this.#isOpened ||= running === undefined
    const service = running
      ? { ...running, running, handle: undefined, upstreamFrom: undefined }
      : await this.#open()
    if (service.url !== this.#answering?.url) this.#options.onAnswering(service)
    this.#answering = service
    return service
  }

  /** The service that `next` returned last. */
  get answering(): LocalService | undefined {
    return this.#answering
  }
}
