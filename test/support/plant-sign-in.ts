import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AuthorizationServer } from './authorization-server.ts'
import type { Sandbox } from './sandbox.ts'

/**
 * Writes the files that a sign-in to the profile `work` with --insecure-storage writes, for the many
 * tests that start signed in. The tests of the sign-in check that a real one writes the same files.
 */
export function plantSignIn(
  { home }: Sandbox,
  { server, service }: { server: AuthorizationServer; service: { url: string } },
): void {
  const now = Date.now()
  const credential = {
    version: 1,
    kind: 'oauth',
    ...server.issue(),
    token_type: 'bearer',
    obtained_at: new Date(now).toISOString(),
    expires_at: new Date(now + 3_600_000).toISOString(),
    client_id: server.clientId,
    issuer: server.url,
    token_endpoint: `${server.url}/oauth/token`,
    revocation_endpoint: `${server.url}/oauth/revoke`,
  }
  const work = {
    base_url: service.url,
    auth_url: server.url,
    client_id: server.clientId,
    storage: 'file',
    credential: { origin: service.url, storage: 'file' },
  }
  const name = createHash('sha256').update(`chatctl:${service.url}\0work`).digest('hex')
  write(join(home, '.local', 'share', 'chatctl', 'credentials'), `${name}.json`, credential)
  write(join(home, '.config', 'chatctl'), 'config.json', { default_profile: 'work', profiles: { work } })
}

function write(directory: string, name: string, value: unknown): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  writeFileSync(join(directory, name), JSON.stringify(value), { mode: 0o600 })
}
