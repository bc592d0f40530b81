import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type FaultServer,
  json,
  type RecordedRequest,
  type Script,
  startFaultServer,
} from '../../support/fault-server.ts'
import { type HostOptions, type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'

export interface FlagRun extends Run {
  requests: readonly RecordedRequest[]
}

/** Runs in one home directory, for tests of the effect of a flag. */
export class FlagRuns {
  readonly sandbox: Sandbox = createSandbox()
  server: FaultServer | undefined

  /** Registers the hooks that remove the home directory. Call it inside a describe. */
  cleanUp(): void {
    afterEach(async () => {
      await this.server?.close()
      this.server = undefined
    })
    after(() => this.sandbox.remove())
  }

  /** Runs a command line against a new service. */
  readonly run = async (
    args: readonly string[],
    script: Script = json(200, {}),
    options: HostOptions = {},
  ): Promise<FlagRun> => {
    await this.server?.close()
    const server = await startFaultServer(script)
    this.server = server
    const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key', ...options.env }
    const done = await runChatctl(this.sandbox, args, { ...options, env })
    return { ...done, requests: server.requests }
  }

  /** Runs a command that works on this machine only, without a service. */
  readonly runHere = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> =>
    runChatctl(this.sandbox, args, { env })

  readonly file = (name: string, text: string): string => {
    const path = join(this.sandbox.home, name)
    writeFileSync(path, text)
    return path
  }
}
