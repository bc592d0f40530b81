import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Sandbox } from './sandbox.ts'

/** What --insecure-storage keeps, and what a test may want to change in it. */
export interface StoredCredential {
  version: number
  kind: string
  key?: string
  access_token?: string
  refresh_token?: string | undefined
  /** With the one below: how long it was meant to live. */
  obtained_at?: string
  expires_at?: string
  scope?: string
  issuer?: string | undefined
  user?: { id: string | null; email: string | null }
}

interface StoredConfiguration {
  default_profile?: string
  profiles?: Record<string, Record<string, unknown>>
}

/** Paths of the credentials in a sandbox. */
export function findCredentials({ home }: Sandbox): string[] {
  const folder = join(home, '.local', 'share', 'chatctl', 'credentials')
  // A lock beside a credential may stay; it holds nothing.
  return globSync('*.json', { cwd: folder }).map((name) => join(folder, name))
}

/** The one credential in a sandbox. */
export function readCredential(sandbox: Sandbox): StoredCredential {
  return JSON.parse(readFileSync(onlyPath(sandbox), 'utf8'))
}

/** Writes over fields of the one credential; its file keeps its mode. */
export function changeCredential(sandbox: Sandbox, fields: Partial<StoredCredential>): void {
  const changed = { ...readCredential(sandbox), ...fields }
  writeFileSync(onlyPath(sandbox), JSON.stringify(changed))
}

/** Makes chatctl believe that its access token ended a minute ago. */
export function expireCredential(sandbox: Sandbox): void {
  changeCredential(sandbox, { expires_at: new Date(Date.now() - 60_000).toISOString() })
}

/** The configuration file, which holds the profiles. */
export function readProfiles(sandbox: Sandbox): StoredConfiguration {
  const path = configurationPath(sandbox)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
}

/** Writes over fields of one profile, as a person with an editor does. */
export function editProfile(sandbox: Sandbox, profile: string, fields: Record<string, unknown>): void {
  const configuration = readProfiles(sandbox)
  const edited = { ...configuration.profiles?.[profile], ...fields }
  const profiles = { ...configuration.profiles, [profile]: edited }
  writeFileSync(configurationPath(sandbox), JSON.stringify({ ...configuration, profiles }))
}

/** Neither a credential nor a profile is there, nor any file that begins as one. */
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
