import { type FaultServer, type RecordedRequest, type Script, startFaultServer } from './fault-server.ts'
import { perTest } from './lifetime.ts'

/** A server that a test starts when it knows how the server is to behave. */
export class ScriptedServer implements FaultServer {
  #server: FaultServer | undefined

  /** @returns the URL; a server that was started before is closed */
  async start(script: Script): Promise<string> {
    await this.close()
    this.#server = await startFaultServer(script)
    return this.#server.url
  }

  get url(): string {
    if (!this.#server) throw new Error('The server was not started')
    return this.#server.url
  }

  get requests(): RecordedRequest[] {
    return this.#server?.requests ?? []
  }

  async close(): Promise<void> {
    await this.#server?.close()
    this.#server = undefined
  }
}

/** To be called in a suite: each of its tests has a server to start, which is closed when the test ends. */
export function scriptedServer(): ScriptedServer {
  return perTest(() => new ScriptedServer())
}
