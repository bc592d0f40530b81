import type { Script } from './fault-server.ts'
import { perSuite } from './lifetime.ts'
import { type Run, type RunOptions, runChatctl } from './run-chatctl.ts'
import { createSandbox, type Sandbox } from './sandbox.ts'
import { type ScriptedServer, scriptedServer } from './scripted-server.ts'

/** Command lines of one suite in one home, each against a server of its own. */
export interface ServedRuns {
  readonly sandbox: Sandbox
  /** That of the last run. */
  readonly server: ScriptedServer
  run(args: readonly string[], script: Script, options?: RunOptions): Promise<Run>
}

/** To be called in a suite: makes the home before its tests, and closes servers after each. */
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
