import { type FaultServer, type Script, startFaultServer } from './fault-server.ts'
import { perSuite } from './lifetime.ts'
import { type Run, type RunOptions, runChatctl } from './run-chatctl.ts'
import { createSandbox, type Sandbox } from './sandbox.ts'

/** Command lines of one suite in one home, each against a server of its own. */
export interface ServedRuns {
  readonly sandbox: Sandbox
  /** That of the last run. */
  readonly server: FaultServer | undefined
  run(args: readonly string[], script: Script, options?: RunOptions): Promise<Run>
}

/** To be called in a suite: makes the home before its tests, and closes servers after each. */
export function serveRuns(): ServedRuns {
  const sandbox = perSuite(createSandbox)
  let server: FaultServer | undefined
  const close = async () => {
    await server?.close()
    server = undefined
  }
  afterEach(close)
  return {
    get sandbox() {
      return sandbox
    },
    get server() {
      return server
    },
    async run(args, script, options = {}) {
      await close()
      server = await startFaultServer(script)
      return runChatctl(sandbox, args, {
        ...options,
        env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key', ...options.env },
      })
    },
  }
}
