import type { Script } from './fault-server.ts'
import { perSuite } from './lifetime.ts'
import { type Run, type RunOptions, runChatctl } from './run-chatctl.ts'
import { createSandbox, type Sandbox } from './sandbox.ts'
import { type ScriptedServer, scriptedServer } from './scripted-server.ts'

/** Command lines of one suite in one home directory, each with a new server. */
export interface ServedRuns {
  readonly sandbox: Sandbox
  /** The server of the last run. */
  readonly server: ScriptedServer
  run(args: readonly string[], script: Script, options?: RunOptions): Promise<Run>
}

/** Call it inside a describe. Creates the home directory, and closes the server after each test. */
export function serveRuns(): ServedRuns {
  const sandbox = perSuite(createSandbox)
  const server = scriptedServer()
  return {
    sandbox,
    server,
    async run(args, script, options = {}) {
      const url = await server.start(script)
      return runChatctl(sandbox, args, {
        ...options,
        env: { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'some-key', ...options.env },
      })
    },
  }
}
