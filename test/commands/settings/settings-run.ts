import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SettingsHandler } from '../../support/handlers/settings.ts'
import { type HostOptions, type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { type Served, serveHandler } from '../../support/scripted-server.ts'

/** A service with settings, and a home directory in which `chatctl settings` runs against it. */
export class SettingsRun {
  readonly sandbox: Sandbox = createSandbox()
  readonly server: Served<SettingsHandler>

  private constructor(server: Served<SettingsHandler>) {
    this.server = server
  }

  static async start(): Promise<SettingsRun> {
    return new SettingsRun(await serveHandler(new SettingsHandler()))
  }

  get env(): NodeJS.ProcessEnv {
    return { CHATCTL_BASE_URL: this.server.url, CHATCTL_API_KEY: 'some-key' }
  }

  /** @param args the words after `chatctl settings` */
  settings(args: readonly string[], options: HostOptions = {}): Promise<Run> {
    return this.command(['settings', ...args], options)
  }

  command(args: readonly string[], options: HostOptions = {}): Promise<Run> {
    return runChatctl(this.sandbox, args, { ...options, env: { ...this.env, ...options.env } })
  }

  file(name: string, text: string, mode = 0o600): string {
    const path = join(this.sandbox.home, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { mode })
    return path
  }

  read(name: string): string {
    return readFileSync(join(this.sandbox.home, name), 'utf8')
  }

  /** The method and body of each request so far, except GET. */
  get changes(): { method: string; body: unknown }[] {
    return this.server.requests
      .filter(({ method }) => method !== 'GET')
      .map(({ method, body }) => ({ method, body: JSON.parse(body) }))
  }

  /** The methods of all requests so far. */
  get methods(): string {
    return this.server.requests.map(({ method }) => method).join(' ')
  }

  async stop(): Promise<void> {
    await this.server.close()
    this.sandbox.remove()
  }
}
