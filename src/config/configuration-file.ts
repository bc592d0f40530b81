import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod/mini'
import { Failure, type Help } from '../contract/failure.ts'
import { faultsOf } from '../contract/faults.ts'
import { describeSystemError, systemFailure } from '../system/describe-system-error.ts'
import type { Directories } from '../system/files/directories.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { withFileLock } from '../system/files/process-lock.ts'
import { demandOursAlone } from '../system/files/read-named-file.ts'
import { hintOfOpenFile } from '../system/files/replace-file.ts'

/** The profile keys that sign-in uses. */
export const signInKeys = [
  'auth_url',
  'client_id',
  'token_url',
  'scope',
  'redirect_host',
  'redirect_port',
  'redirect_path',
] as const

/** The keys that users set. Other commands change `id`, `storage`, and `credential`. */
export const profileKeys = [
  'base_url',
  ...signInKeys,
  'credential_command',
  'approvers',
  'read_only',
  'model',
  'output',
  'timeout',
  'retries',
  'max_wait',
  'save',
  'notify',
] as const
export type ProfileKey = (typeof profileKeys)[number]

/** The keys that belong to no profile. */
export const globalKeys = ['default_profile', 'model_server', 'model_server_key_file'] as const
export type GlobalKey = (typeof globalKeys)[number]

/** Built on demand, because a start without a configuration file does not need it. */
function makeSchema() {
  const profile = z.strictObject({
    ...texts(profileKeys),
    aliases: z.optional(z.record(z.string(), z.string())),
    storage: z.optional(z.literal('file')),
    /** What credentials and files on this machine belong to, if that is not the name. A rename keeps it. */
    id: z.optional(z.string()),
    /** Where the profile has a credential. */
    credential: z.optional(z.strictObject({ origin: z.string(), storage: z.enum(['keychain', 'file']) })),
  })
  return z.strictObject({
    ...texts(globalKeys),
    directories: z.optional(z.record(z.string(), z.string())),
    profiles: z.optional(z.record(z.string(), profile)),
    /** The IDs of removed profiles, whose files stay on this machine. */
    removed_ids: z.optional(z.array(z.string())),
  })
}

function texts<K extends string>(keys: readonly K[]) {
  const entries = keys.map((key) => [key, z.optional(z.string())])
  return Object.fromEntries(entries) as Record<K, z.ZodMiniOptional<z.ZodMiniString>>
}

/** A named connection and its defaults, without secrets. */
export type Profile = NonNullable<Configuration['profiles']>[string]
export type Configuration = z.infer<ReturnType<typeof makeSchema>>

export function configurationPath(directories: Directories): string {
  return join(directories.config, 'config.json')
}

/**
 * Reads the file. A missing file is an empty configuration. Does not use conf, which is only needed for
 * writing, because loading it would slow down every start.
 * @throws Failure `config` when it cannot be read, is invalid, or is not used; the file stays as it is.
 */
export function readConfiguration(directories: Directories): Configuration {
  const path = configurationPath(directories)
  const text = readText(path)
  if (text === undefined) return {}
  const hint = `Correct or remove the file: ${path}`
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const reason = (cause as Error).message.replaceAll(/\s+/g, ' ').replace(/ is not valid JSON$/, '')
    const words = `The configuration file ${path} is not valid JSON: ${reason}`
    throw new Failure('config', words, { hint, cause })
  }
  const parsed = z.safeParse(makeSchema(), value)
  const profiles = Object.values(parsed.data?.profiles ?? {})
  if (profiles.some((profile) => profile.credential_command !== undefined))
    demandOursAlone(path, `The configuration file ${path} names a credential command, and`, 'config')
  if (parsed.success) return parsed.data
  const faults = faultsOf(parsed.error)
  const words = faults.map(({ path: where, message }) => `${where || 'the file'} ${message}`).join('; ')
  throw new Failure('config', `The configuration file ${path} is invalid: ${words}`, {
    hint,
    details: { faults },
  })
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new Failure('config', `Cannot read the configuration file ${path}: ${describeSystemError(cause)}`, {
      cause,
    })
  }
}

/**
 * Replaces the file atomically, with mode 0600 in a directory with mode 0700.
 * @param change receives the configuration as read under the lock, and is also called before: a change
 *   that it rejects creates no directory
 * @param maxWait maximum wait for another process that changes the file, in ms
 */
export async function changeConfiguration(
  directories: Directories,
  change: (configuration: Configuration) => Configuration,
  maxWait?: number,
): Promise<void> {
  const path = configurationPath(directories)
  try {
    change(readConfiguration(directories))
    demandConfigurationDirectory(directories)
    const { default: Conf } = await import('conf')
    await withFileLock(
      path,
      () => {
        const configuration = change(readConfiguration(directories))
        const file = new Conf<Configuration>({
          cwd: directories.config,
          configName: 'config',
          configFileMode: 0o600,
          clearInvalidConfig: false,
        })
        file.store = configuration
      },
      maxWait,
    )
  } catch (cause) {
    throw unwritable(path, cause)
  }
}

/** @throws Failure `storage` if the directory does not exist and cannot be created */
export function demandConfigurationDirectory(directories: Directories): void {
  try {
    makePrivateDirectory(directories.config)
  } catch (cause) {
    throw unwritable(configurationPath(directories), cause)
  }
}

export function isProfileName(name: string): boolean {
  return name.length <= 64 && /^[\w.@][\w.@-]*$/.test(name) && name !== '__proto__'
}

/** The ID of a profile, which never changes: the name with which it was created, unless that is or was another's ID. */
export function profileId({ profiles = {}, removed_ids: removed = [] }: Configuration, name: string): string {
  if (Object.hasOwn(profiles, name)) return profiles[name]?.id ?? name
  // The keychain of Windows ignores case.
  const ids = [...Object.entries(profiles).map(([other, { id = other }]) => id), ...removed]
  const known = ids.map((other) => other.toLowerCase())
  let id = name
  for (let count = 2; known.includes(id.toLowerCase()); count++) id = `${name}-${count}`
  return id
}

/** The configuration with a profile, which keeps its ID. */
export function withProfile(configuration: Configuration, name: string, profile: Profile): Configuration {
  const id = profileId(configuration, name)
  const { id: _, ...rest } = profile
  const stored: Profile = id === name ? rest : { ...rest, id }
  return { ...configuration, profiles: { ...configuration.profiles, [name]: stored } }
}

export const listProfiles = 'List the profiles with: chatctl auth list'

/** What to do about the name of a profile that is not among those that are known. */
export function adviceForProfile(name: string, known: readonly string[]): Help {
  const canBeCreated = isProfileName(name) && findInAnyCase(name, known) === undefined
  return canBeCreated ? { advice: [{ code: 'create_profile', profile: name }] } : { hint: listProfiles }
}

/** The known name that differs at most in case. */
export function findInAnyCase(name: string, known: readonly string[]): string | undefined {
  return known.find((other) => other.toLowerCase() === name.toLowerCase())
}

function unwritable(path: string, cause: unknown): Failure {
  const hint = hintOfOpenFile(cause) ?? 'Set XDG_CONFIG_HOME to a directory that you can write to.'
  return systemFailure(`Cannot write the configuration file ${path}`, cause, hint)
}
