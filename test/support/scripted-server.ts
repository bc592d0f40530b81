import { type FaultServer, type RecordedRequest, type Script, startFaultServer } from './fault-server.ts'
import { perTest } from './lifetime.ts'

/** A server that a test starts with a script. */
export class ScriptedServer implements FaultServer {
  #server: FaultServer | undefined

  /** Closes a server that was started before. @returns the URL */
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

/** Call it inside a describe. Each test can start the server, which is closed when the test ends. */
export function scriptedServer(): ScriptedServer {
  return perTest(() => new ScriptedServer())
}
