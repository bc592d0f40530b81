import { createHash } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { creatingGrace } from '../../support/command-lines.ts'
import { plantBrowserSession } from '../../support/plant-browser-session.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import type { World } from './world.ts'

/** API key of the profile. Only `auth token` ever prints it. */
export const canary = 'canary-key-of-the-matrix'

/** The password in the files. Nothing ever prints it. */
export const canaryPassword = 'canary password of the matrix'

const files: Record<string, string> = {
  'users.csv': 'email,name\nada@example.com,Ada\n',
  'team.csv': 'email,name\nada@example.com,Ada Lovelace\n',
  'roles.csv': 'id,role\nu1,editor\n',
  'settings.yaml': 'theme: { mode: dark }\n',
  'api.yaml': 'version: v1\n',
  'messages.jsonl': '{"role":"user","content":"a"}\n',
  'review.md': 'Review this change:\n',
  'key.txt': 'key-of-a-model-server\n',
  'seal.key': `${'A'.repeat(43)}=\n`,
  'password.txt': `${canaryPassword}\n`,
}

/**
 * A home directory with a profile that is signed in, data of the embedded service with a key, a trust, and a session,
 * and a transcript. Beside it is a working directory with the files that the calls name.
 */
export class PreparedHome {
  readonly #root: string
  readonly #ids: ReadonlyMap<string, string>
  #worlds = 0

  private constructor(root: string, ids: ReadonlyMap<string, string>) {
    this.#root = root
    this.#ids = ids
  }

  /** @param url address of the service that the profile is signed in to */
  static async make(url: string): Promise<PreparedHome> {
    const root = mkdtempSync(join(tmpdir(), 'chatctl-matrix-'))
    const home = join(root, 'prepared', 'home')
    const here = join(root, 'prepared', 'here')
    mkdirSync(home, { recursive: true })
    mkdirSync(here)
    const sandbox = createSandbox()
    const run = async (...args: string[]) => {
      const { stdout, stderr } = await runChatctl({ ...sandbox, home }, args, { env: { HOME: home } })
      if (stdout === '') throw new Error(stderr)
      return stdout.trim()
    }
    const data = join(home, '.local', 'share', 'chatctl')
    const ids = new Map([['URL', url]])
    ids.set('KEY', await run('service', 'keys', 'create', '--name', 'x', '--jq', '.id'))
    ids.set('USER', await run(...creatingGrace))
    const of = [
      '--issuer',
      'https://ci.example',
      '--audience',
      'a',
      '--subject',
      'b',
      '--permission',
      'read:chat',
    ]
    ids.set('TRUST', await run('service', 'trust', 'create', 'prepared', ...of, '--jq', '.name'))
    ids.set('SESSION', await plantBrowserSession(data))
    ids.set('TRANSCRIPT', plantTranscript(join(data, 'sessions'), url))
    await run('service', 'backup', '--to', join(here, 'copy.db'))
    plantProfiles(home, url)
    // The second one is a change that can be reverted.
    for (const _ of [1, 2]) await run('settings', 'api', 'set', '--version', 'v1', '--json')
    ids.set('CHANGE', await run('settings', 'history', '--jq', '.[-1].id'))
    plant(join(home, '.config', 'chatctl', 'prompts'), 'review.md', files['review.md'])
    const { cert, key } = makeCertificate('127.0.0.1')
    const all = { ...files, 'team.state.json': usersState(url), 'tls.crt': cert, 'tls.key': key }
    for (const [name, text] of Object.entries(all)) writeFileSync(join(here, name), text, { mode: 0o600 })
    rmSync(join(home, '.cache'), { recursive: true, force: true })
    sandbox.remove()
    return new PreparedHome(root, ids)
  }

  /** A separate copy of the home for one run. */
  makeWorld(): World {
    this.#worlds += 1
    const root = join(this.#root, String(this.#worlds))
    cpSync(join(this.#root, 'prepared'), root, { recursive: true })
    // cpSync keeps the modes of files, but not those of directories.
    closeDirectories(root)
    const tmp = join(root, 'tmp')
    mkdirSync(tmp)
    const home = join(root, 'home')
    return {
      root,
      home,
      here: join(root, 'here'),
      tmp,
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        TMPDIR: tmp,
        LANG: 'C.UTF-8',
        EDITOR: 'true',
        // One code cache for all worlds, because compiling would take most of the time.
        XDG_CACHE_HOME: join(this.#root, 'cache'),
        DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere',
        TEST_WORLD: root,
      },
      columns: 40,
      user: undefined,
      redirections: '',
      isHereDeleted: false,
      signals: [],
      clock: undefined,
      reader: 'reads all',
    }
  }

  /** Replaces names in the arguments of a call by the ids of this home. */
  fill(args: readonly string[]): string[] {
    return args.map((word) => this.#ids.get(word) ?? word)
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 5 })
  }
}

function closeDirectories(directory: string): void {
  chmodSync(directory, 0o700)
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) closeDirectories(join(directory, entry.name))
  }
}

function plantTranscript(directory: string, baseUrl: string): string {
  const writer = TranscriptWriter.create(directory, { profile: 'work', baseUrl }, systemClock)
  writer.append({ type: 'user', turn: 1, at: new Date().toISOString(), text: 'Hi' })
  writer.close()
  return writer.id
}

function plantProfiles(home: string, url: string): void {
  const work = { base_url: url, storage: 'file' }
  const configuration = { default_profile: 'work', profiles: { work } }
  const name = createHash('sha256').update(`chatctl:${url}\0work`).digest('hex')
  const credential = { version: 1, kind: 'api_key', key: canary }
  plant(join(home, '.config', 'chatctl'), 'config.json', JSON.stringify(configuration))
  plant(join(home, '.local', 'share', 'chatctl', 'credentials'), `${name}.json`, JSON.stringify(credential))
}

/** A state file that knows the user of the service. */
function usersState(url: string): string {
  const users = [{ email: 'ada@example.com', id: 'u1', hashes: {} }]
  return JSON.stringify({ format: 'chatctl-users-state', v: 1, service: `${url}/`, serial: 1, users })
}

function plant(directory: string, name: string, text = ''): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  writeFileSync(join(directory, name), text, { mode: 0o600 })
}
