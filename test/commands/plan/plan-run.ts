import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Clock, systemClock } from '../../../src/system/clock.ts'
import { SettingsHandler } from '../../support/handlers/settings.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { json, type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts'

/** Both kinds of plans: a file to make one from, and a value that the plan contains. */
export const plans = [
  { command: 'settings', file: 'settings.yaml', text: 'app_name: Quince\n', value: 'Quince', applyFlags: [] },
  {
    command: 'users',
    file: 'users.jsonl',
    text: '{"email":"quince@example.com"}\n',
    value: 'quince@example.com',
    applyFlags: ['--no-password'],
  },
] as const

/** A service with settings and users, and a home directory in which `chatctl` runs against it. */
export class PlanRun {
  readonly sandbox: Sandbox = createSandbox()
  readonly env: NodeJS.ProcessEnv
  readonly server: ScriptedServer
  clock: Clock = systemClock

  private constructor(server: ScriptedServer) {
    this.server = server
    this.env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' }
  }

  static async start(): Promise<PlanRun> {
    const settings = new SettingsHandler()
    let user = {}
    const server = await startScriptedServer({
      choose: (request) => {
        if (request.path.startsWith('/v1/settings')) return settings.choose(request)
        if (request.method === 'POST') user = { ...JSON.parse(request.body), id: 'usr_1' }
        return json(200, user)
      },
    })
    return new PlanRun(server)
  }

  chatctl(...words: string[]): Promise<Run> {
    return runChatctl(this.sandbox, words, { env: this.env, host: { clock: this.clock } })
  }

  file(name: string, text: string, mode = 0o600): string {
    const path = join(this.sandbox.home, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    chmodSync(path, mode)
    return path
  }

  read(name: string): string {
    return readFileSync(join(this.sandbox.home, name), 'utf8')
  }

  /** The requests so far, except GET. */
  get changes(): string[] {
    return this.server.requests
      .filter(({ method }) => method !== 'GET')
      .map(({ method, path, body }) => `${method} ${path} ${body}`)
  }

  async stop(): Promise<void> {
    await this.server.close()
    this.sandbox.remove()
  }
}
