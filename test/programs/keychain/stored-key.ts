import { expect } from 'chai'
import { owner, startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import type { ProcessOptions, Run } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { type SecretService, startSecretService } from './secret-service.ts'

/** Where a key is stored, and further flags of `auth login`. */
export interface KeyLogin {
  profile?: string
  flags?: readonly string[]
  env?: NodeJS.ProcessEnv
}

/** Runs `auth login --with-api-key --json` with the key on stdin. */
export function loginWithKey(
  sandbox: Sandbox,
  { url }: { url: string },
  key: string,
  { profile = 'work', flags = [], env = {} }: KeyLogin = {},
): Promise<Run> {
  const words = ['auth', 'login', '--with-api-key', '--profile', profile, '--base-url', url, '--json']
  return runProgram(sandbox, [...words, ...flags], { env, stdin: `${key}\n`, timeout: 60_000 })
}

/** The attributes of the item of a profile, as arguments of secret-tool. */
export function attributesOf({ url }: { url: string }, profile = 'work'): string[] {
  return ['service', `chatctl:${new URL(url).origin}`, 'username', profile]
}

interface KeychainWorld<Keychain> {
  readonly sandbox: Sandbox
  readonly service: Awaited<ReturnType<typeof startBearerService>>
  readonly keychain: Keychain
  /** Runs a command line with the keychain. */
  run(line: string, options?: ProcessOptions): Promise<Run>
  login(key: string, options?: KeyLogin): Promise<Run>
  /** Sends a request as the profile `work`. */
  models(options?: ProcessOptions): Promise<Run>
  addProfile(url?: string): Promise<Run>
}

/** Call it inside a describe. A home directory, a keychain, and a service that accepts keys, for each test. */
export function keychainWorld<Keychain extends Pick<SecretService, 'env' | 'close'>>(
  start: (sandbox: Sandbox) => Promise<Keychain>,
  isLive: (token: string) => boolean = () => true,
): KeychainWorld<Keychain> {
  const sandbox = perTest(createSandbox)
  const keychain: Keychain = perTest(() => start(sandbox))
  const service = perTest(() => startBearerService(isLive))
  const run: KeychainWorld<Keychain>['run'] = (line, options = {}) =>
    runProgram(sandbox, line.split(' '), { ...options, env: { ...keychain.env, ...options.env } })
  return {
    sandbox,
    service,
    keychain,
    run,
    login: (key, options = {}) =>
      loginWithKey(sandbox, service, key, { ...options, env: { ...keychain.env, ...options.env } }),
    models: (options) => run('chat models -p work --json', options),
    addProfile: (url = service.url) => run(`config set base_url ${url} -p work`),
  }
}

/** The same with GNOME Keyring, and with what secret-tool reads and writes in it. */
export function gnomeWorld(
  { dialog, hasKeyring }: { dialog?: 'unanswered'; hasKeyring?: boolean } = {},
  isLive?: (token: string) => boolean,
) {
  const world = keychainWorld((sandbox) => startSecretService(sandbox, dialog, hasKeyring), isLive)
  const { keychain, service } = world
  return {
    ...world,
    lookup: (profile?: string, at: { url: string } = service) =>
      keychain.secretTool(['lookup', ...attributesOf(at, profile)]),
    store: (value: string | Uint8Array, profile?: string, ...more: string[]) => {
      const words = ['store', '--label=of a test', ...attributesOf(service, profile), ...more]
      expect(keychain.secretTool(words, value)).to.include({ exitCode: 0 })
    },
  }
}

/** A key as it is stored. If the service has verified it, with its user. */
export function storedKey(key: string, { isVerified = true } = {}): string {
  const user = { id: owner.id, email: owner.email }
  return JSON.stringify({ version: 1, kind: 'api_key', key, ...(isVerified ? { user } : {}) })
}

interface JsonLine {
  notice?: { message: string }
  warning?: { message: string }
  error?: { code: string; message: string; hint?: string }
}

/** The lines of stderr of a run with --json. */
export function linesOf({ stderr }: Run): JsonLine[] {
  const lines = stderr.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line))
}

/** Expects that a run with --json failed with exit code 4, empty stdout, and this error code in the last line. */
export function expectCode(
  { exitCode, stdout, stderr }: Run,
  code: string,
): { message: string; hint?: string } {
  expect({ exitCode, stdout }, stderr).to.deep.equal({ exitCode: 4, stdout: '' })
  const { error } = linesOf({ exitCode, stdout, stderr }).at(-1) ?? {}
  expect(error?.code, stderr).to.equal(code)
  if (!error) throw new Error('there is no error')
  return error
}
