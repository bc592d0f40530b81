import { perSuite, perTest } from '../../support/lifetime.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { json, type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts'

export interface NamedFilePlace {
  args(path: string): string[]
  env?(path: string): NodeJS.ProcessEnv
  exitCode: number
  max: string
}

/** The flags and variables that name a file which chatctl reads completely. */
export const namedFilePlaces: Record<string, NamedFilePlace> = {
  CHATCTL_API_KEY_FILE: {
    args: () => ['chat', 'models'],
    env: (path) => ({ CHATCTL_API_KEY: '', CHATCTL_API_KEY_FILE: path }),
    exitCode: 4,
    max: '64 KiB',
  },
  '--password-file': {
    args: (path) => ['users', 'create', '--password-file', path],
    exitCode: 2,
    max: '64 KiB',
  },
  '--messages': { args: (path) => ['chat', 'complete', '--messages', path], exitCode: 2, max: '64 MiB' },
  'settings apply FILE': { args: (path) => ['settings', 'apply', path, '--yes'], exitCode: 2, max: '4 MiB' },
  '--model-server-key-file': {
    args: (path) => [
      ...['service', 'run', '--port', '0', '--model-server', 'http://127.0.0.1:9/v1'],
      ...['--model-server-key-file', path],
    ],
    exitCode: 2,
    max: '64 KiB',
  },
}

/** A home directory for each test, and one service without models. */
export interface ServedNamedFiles {
  readonly sandbox: Sandbox
  readonly server: ScriptedServer
  /** The environment that selects the service. */
  service(): NodeJS.ProcessEnv
  /** The environment of a run in which the place names this file. */
  envOf(place: NamedFilePlace, path: string): NodeJS.ProcessEnv
}

/** Call it inside a describe. Windows skips the suite, because it has no file modes and no named pipes. */
export function servedNamedFiles(): ServedNamedFiles {
  before(function () {
    if (process.platform === 'win32') this.skip()
  })
  const sandbox = perTest(createSandbox)
  const server = perSuite(() => startScriptedServer(json(200, { data: [] })))
  beforeEach(() => {
    server.requests.length = 0
  })
  const service = () => ({ CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'test-key' })
  return {
    sandbox,
    server,
    service,
    envOf: ({ args, env }, path) => (args(path)[0] === 'service' ? {} : { ...service(), ...env?.(path) }),
  }
}
