import { expect } from 'chai'
import { startLogin } from './login-process.ts'
import type { HostOptions, Run } from './run-chatctl.ts'
import type { Sandbox } from './sandbox.ts'
import { signInByHttp } from './sign-in-by-http.ts'

export interface Parties {
  server: { url: string; clientId: string }
  service: { url: string }
}

/** The flags of a sign-in to the profile `work` with a credential file, because tests use no keychain. */
export function loginFlags({ server, service }: Parties, profile = 'work'): string[] {
  return [
    ...['--profile', profile, '--base-url', service.url, '--insecure-storage'],
    ...['--auth-url', server.url, '--client-id', server.clientId],
  ]
}

/** Signs in, and expects success. */
export async function signIn(
  sandbox: Sandbox,
  parties: Parties,
  more: readonly string[] = ['--scope', 'chat:read chat:write'],
  options: HostOptions & { profile?: string } = {},
): Promise<Run> {
  const flags = [...loginFlags(parties, options.profile), '--no-browser', ...more]
  const login = startLogin(sandbox, flags, options)
  await signInByHttp((await login.address()).href)
  const run = await login.ended
  expect(run.exitCode, run.stderr).to.equal(0)
  return run
}

/** Stores an API key, and expects success. */
export async function storeKey(
  sandbox: Sandbox,
  key: string,
  service: { url: string },
  profile = 'work',
): Promise<Run> {
  const flags = ['--with-api-key', '--profile', profile, '--base-url', service.url, '--insecure-storage']
  const run = await startLogin(sandbox, flags, { stdin: `${key}\n` }).ended
  expect(run.exitCode, run.stderr).to.equal(0)
  return run
}
