import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { perSuite, perTest } from './lifetime.ts'
import { type HostOptions, type Run, runChatctl } from './run-chatctl.ts'
import { createSandbox, type Sandbox } from './sandbox.ts'
import {
  json,
  type RecordedRequest,
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from './scripted-server.ts'

export interface ServedRun extends Run {
  requests: readonly RecordedRequest[]
}

/** Command lines of one suite in one home directory, each with its own script. */
export interface ServedRuns {
  readonly sandbox: Sandbox
  readonly server: ScriptedServer
  run(args: readonly string[], script?: Script, options?: HostOptions): Promise<ServedRun>
  /** Writes a file in the home directory. @returns its path */
  file(name: string, text: string): string
}

/** Call it inside a describe. */
export function serveRuns(): ServedRuns {
  const sandbox = perSuite(createSandbox)
  const server = perTest(startScriptedServer)
  return {
    sandbox,
    server,
    async run(args, script = json(200, {}), options = {}) {
      const url = await server.serve(script)
      const env = { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'some-key', ...options.env }
      return { ...(await runChatctl(sandbox, args, { ...options, env })), requests: [...server.requests] }
    },
    file(name, text) {
      const path = join(sandbox.home, name)
      writeFileSync(path, text)
      return path
    },
  }
}
