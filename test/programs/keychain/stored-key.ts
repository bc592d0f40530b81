import { expect } from 'chai'
import { owner } from '../../support/handlers/bearer.ts'
import type { Run } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import type { Sandbox } from '../../support/sandbox.ts'
import type { ScriptedServer } from '../../support/scripted-server.ts'

/** Where a key is stored, and further flags of `auth login`. */
export interface KeyLogin {
  profile?: string
  flags?: readonly string[]
  env?: NodeJS.ProcessEnv
}

/** `auth login --with-api-key --json`. */
function loginWords({ url }: { url: string }, profile = 'work'): string[] {
  return ['auth', 'login', '--with-api-key', '--profile', profile, '--base-url', url, '--json']
}

/** Runs `loginWords` with the key on stdin. */
export function loginWithKey(
  sandbox: Sandbox,
  service: { url: string },
  key: string,
  { profile = 'work', flags = [], env = {} }: KeyLogin = {},
): Promise<Run> {
  return runProgram(sandbox, [...loginWords(service, profile), ...flags], {
    env,
    stdin: `${key}\n`,
    timeout: 60_000,
  })
}

/** The attributes of the item of a profile, as arguments of secret-tool. */
export function attributesOf({ url }: { url: string }, profile = 'work'): string[] {
  return ['service', `chatctl:${new URL(url).origin}`, 'username', profile]
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
  return stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

/** Expects that a run with --json failed with exit code 4, empty stdout, and this error code in the last line. */
export function expectCode(run: Run, code: string): { message: string; hint?: string } {
  expect({ exitCode: run.exitCode, stdout: run.stdout }, run.stderr).to.deep.equal({
    exitCode: 4,
    stdout: '',
  })
  const { error } = linesOf(run).at(-1) ?? {}
  expect(error?.code, run.stderr).to.equal(code)
  if (!error) throw new Error('there is no error')
  return error
}

/** Every credential that a service has received. */
export function credentialsSeen({ requests }: ScriptedServer): (string | undefined)[] {
  return requests.map(({ headers }) => headers.authorization)
}
