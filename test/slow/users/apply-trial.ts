import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'csv-parse/sync'
import { UsersState } from '../../../src/users/state/users-state.ts'
import { type StoredUser, UsersHandler, type UsersOptions } from '../../support/handlers/users.ts'
import { collectOutput, type Run, startBuilt } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { type Served, serveHandler } from '../../support/scripted-server.ts'
import { findFalsePasswords } from './named-passwords.ts'

/** When a run is killed: after so many ms, or at a request. */
export type Moment = { afterMs: number } | { atRequest: number }

/** A user of the file. */
export interface FileUser {
  email: string
  name: string
  theme: string
  role: string
}

export interface StoredEntry {
  email: string
  id?: string
  creation?: string
}

/** A file of users, a state file that knows a third of them, and a service on which they have other names. */
export class ApplyTrial {
  readonly sandbox: Sandbox
  readonly server: Served<UsersHandler>
  users: readonly FileUser[] = []
  /** Requests of the last run, by method. */
  requests: Record<string, number> = {}

  private constructor(sandbox: Sandbox, server: Served<UsersHandler>) {
    this.sandbox = sandbox
    this.server = server
  }

  /** Writes the file with so many users, whose names have this suffix. */
  writeFile(count: number, suffix: string): void {
    this.users = Array.from({ length: count }, (_, index) => ({
      email: `user${index}@example.com`,
      name: `User ${index}${suffix}`,
      theme: index % 4 === 0 ? 'dark' : '',
      role: index % 2 === 0 ? 'editor' : '',
    }))
    const rows = this.users.map((user) => Object.values(user).join())
    writeFileSync(
      join(this.sandbox.home, 'users.csv'),
      `email,name,settings.theme,role\n${rows.join('\n')}\n`,
    )
  }

  static async begin({ count, ...options }: UsersOptions & { count: number }): Promise<ApplyTrial> {
    const trial = new ApplyTrial(createSandbox(), await serveHandler(new UsersHandler(options)))
    trial.writeFile(count, '')
    const known = trial.users.filter((_, index) => index % 3 === 0)
    await trial.adopt(known.map(({ email }) => ({ email, id: trial.server.add({ email, name: 'Old' }) })))
    return trial
  }

  /** Records the ids of users. */
  async adopt(users: readonly { email: string; id: string }[]): Promise<void> {
    const state = await UsersState.open(this.#statePath, { service: this.#service, access: 'write' })
    for (const user of users) state.note({ ...user, hashes: {} })
    await state.close()
  }

  async run({ at, flags = [] }: { at?: Moment | undefined; flags?: readonly string[] } = {}): Promise<Run> {
    const command = ['users', 'apply', 'users.csv', '--yes', '--results', 'new.csv', ...flags]
    const child = startBuilt(this.sandbox, command, {
      env: { CHATCTL_BASE_URL: this.server.url, CHATCTL_API_KEY: 'some-api-key' },
    })
    const run = collectOutput(child)
    child.stdin?.end()
    const kill = () => void child.kill('SIGKILL')
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
    const hung = setTimeout(kill, 60_000)
    this.requests = {}
    let count = 0
    this.server.onRequest = ({ method }) => {
      this.requests[method] = (this.requests[method] ?? 0) + 1
      if (at && 'atRequest' in at && ++count >= at.atRequest) kill()
    }
    if (at && 'afterMs' in at) {
      await Promise.race([closed, sleep(at.afterMs)])
      kill()
    }
    run.exitCode = await closed
    clearTimeout(hung)
    this.server.onRequest = undefined
    return run
  }

  /** Deletes the ledger, like a new machine that has only the files. */
  loseHome(): void {
    rmSync(join(this.sandbox.home, '.local'), { recursive: true, force: true })
  }

  entries(): StoredEntry[] {
    return JSON.parse(readFileSync(this.#statePath, 'utf8')).users
  }

  passwords(): Map<string, string> {
    const rows: Record<string, string>[] = parse(readFileSync(join(this.sandbox.home, 'new.csv')), {
      columns: true,
    })
    return new Map(rows.map(({ email = '', password = '' }) => [email, password]))
  }

  falsePasswords(): unknown[] {
    return findFalsePasswords(join(this.sandbox.home, 'new.csv'), this.server.report().users.values())
  }

  usersWith(email: string): StoredUser[] {
    return [...this.server.report().users.values()].filter((user) => user.email === email)
  }

  async end(): Promise<void> {
    await this.server.close()
    this.sandbox.remove()
  }

  get #statePath(): string {
    return join(this.sandbox.home, 'users.state.json')
  }

  get #service(): string {
    return `${this.server.url}/`
  }
}
