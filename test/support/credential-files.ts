import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Sandbox } from './sandbox.ts'

/** The content of a file of --insecure-storage, as far as tests change it. */
export interface StoredCredential {
  version: number
  kind: string
  key?: string
  access_token?: string
  refresh_token?: string | undefined
  /** The start of the lifetime of the access token. */
  obtained_at?: string
  expires_at?: string
  scope?: string
  issuer?: string | undefined
  token_endpoint?: string
  revocation_endpoint?: string
  user?: { id: string | null; email: string | null }
}

interface StoredConfiguration {
  default_profile?: string
  profiles?: Record<string, Record<string, unknown>>
}

/** Paths of the credentials in a sandbox. */
export function findCredentials({ home }: Sandbox): string[] {
  const directory = join(home, '.local', 'share', 'chatctl', 'credentials')
  // The lock of a credential may remain. It contains nothing.
  return globSync('*.json', { cwd: directory }).map((name) => join(directory, name))
}

/** The only credential in a sandbox. */
export function readCredential(sandbox: Sandbox): StoredCredential {
  return JSON.parse(readFileSync(onlyPath(sandbox), 'utf8'))
}

/** Overwrites fields of the only credential, and keeps the mode of its file. */
export function changeCredential(sandbox: Sandbox, fields: Partial<StoredCredential>): void {
  const changed = { ...readCredential(sandbox), ...fields }
  writeFileSync(onlyPath(sandbox), JSON.stringify(changed))
}

/** Makes the access token appear to have expired a minute ago. */
export function expireCredential(sandbox: Sandbox): void {
  changeCredential(sandbox, { expires_at: new Date(Date.now() - 60_000).toISOString() })
}

export function readProfiles(sandbox: Sandbox): StoredConfiguration {
  const path = configurationPath(sandbox)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
}

/** Overwrites fields of one profile, as a user would in an editor. */
export function editProfile(sandbox: Sandbox, profile: string, fields: Record<string, unknown>): void {
  const configuration = readProfiles(sandbox)
  const edited = { ...configuration.profiles?.[profile], ...fields }
  const profiles = { ...configuration.profiles, [profile]: edited }
  writeFileSync(configurationPath(sandbox), JSON.stringify({ ...configuration, profiles }))
}

/** Expects no credential, no profile, and no partial file of either. */
export function expectNothingStored(sandbox: Sandbox): void {
  const left = globSync('**/credentials/*', { cwd: join(sandbox.home, '.local') }).filter((path) =>
    statSync(join(sandbox.home, '.local', path)).isFile(),
  )
  expect(left, 'credentials').to.deep.equal([])
  const { profiles = {}, default_profile } = readProfiles(sandbox)
  expect({ profiles, default_profile }).to.deep.equal({ profiles: {}, default_profile: undefined })
}

function configurationPath({ home }: Sandbox): string {
  return join(home, '.config', 'chatctl', 'config.json')
}

function onlyPath(sandbox: Sandbox): string {
  const [path, ...others] = findCredentials(sandbox)
  if (path === undefined || others.length > 0)
    throw new Error(`${others.length} credentials too many, or none`)
  return path
}
