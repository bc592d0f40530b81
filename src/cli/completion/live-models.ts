import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Configuration, readConfiguration } from '../../config/configuration-file.ts'
import { resolveOptions } from '../../config/resolve-options.ts'
import { readEnvironmentCredential } from '../../credentials/environment-credential.ts'
import { InsecureFile } from '../../credentials/insecure-file.ts'
import { isFresh, secretOf } from '../../credentials/stored-credential.ts'
import { Directories } from '../../system/directories.ts'
import { isOursAlone, makePrivateDirectory } from '../../system/private-directory.ts'
import { replaceFile } from '../../system/replace-file.ts'
import { type Host, resolvePath } from '../host.ts'
import { once } from '../once.ts'
import { ownerOf } from '../sign-in/credential-stores.ts'
import { chooseTarget, type Target } from '../target.ts'

/** Requests the IDs of the models of a service. */
export type AskForModels = (baseUrl: string, secret: string) => Promise<readonly string[]>

type Remote = Extract<Target, { kind: 'remote' }>

/** How long a cached list is used, in ms. */
const life = 5 * 60_000

/** After a failed request, pause before the next one, in ms. Otherwise, every Tab would wait for it again. */
const pause = 30_000

/** Maximum wait for the keychain, in ms. */
const timeout = 500

/**
 * The models of the service that a line selects, cached for some minutes. Does not start the embedded
 * service, and does not unlock the keychain.
 *
 * @param flags of the line
 * @throws Failure if the line and the configuration select no service
 */
export async function findModels(
  flags: { profile?: string; base_url?: string },
  host: Host,
  ask: AskForModels,
): Promise<readonly string[]> {
  const { env, clock } = host
  const directories = new Directories(env)
  const configuration = once(() => readConfiguration(directories))
  const options = resolveOptions(flags, env, configuration, {
    mayNameNewProfile: false,
    takesProfileOfAddress: false,
  })
  const target = chooseTarget(options, () =>
    readEnvironmentCredential(env, (name) => resolvePath(host, name)),
  )
  if (target.kind === 'local') return []
  const cache = directories.cache
  const path = cachePath(cache, target)
  const kept = readKept(cache, path)
  if (kept && Math.abs(clock.now() - kept.at) < life) return kept.models
  try {
    const secret = target.fromEnvironment?.secret ?? (await storedSecret(target, configuration, host))
    const models = secret === undefined ? (kept?.models ?? []) : await ask(target.baseUrl, secret)
    keep(cache, path, { at: clock.now(), models })
    return models
  } catch {
    const models = kept?.models ?? []
    keep(cache, path, { at: clock.now() - life + pause, models })
    return models
  }
}

/** Undefined if the profile is not signed in, or the token must be renewed. */
async function storedSecret(
  { profile, baseUrl }: Remote,
  configuration: () => Configuration,
  host: Host,
): Promise<string | undefined> {
  if (profile === undefined) return undefined
  const isInFile = configuration().profiles?.[profile]?.storage === 'file'
  const store = isInFile
    ? new InsecureFile(new Directories(host.env))
    : host.openKeychain({ timeout, onWait: () => {}, mayAsk: false })
  const stored = await store.read(ownerOf(profile, baseUrl))
  if (!stored || (stored.kind === 'oauth' && !isFresh(stored, host.clock.now()))) return undefined
  return secretOf(stored)
}

interface Kept {
  /** Ms since the epoch. */
  at: number
  models: readonly string[]
}

function cachePath(cache: string, { baseUrl, profile, fromEnvironment }: Remote): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  const about = JSON.stringify([baseUrl, profile ?? null, fromEnvironment !== undefined])
  const name = createHash('sha256').update(about).digest('hex').slice(0, 32)
  return join(cache, 'models', `${name}.json`)
}

function readKept(cache: string, path: string): Kept | undefined {
  try {
    if (!isOursAlone(cache)) return undefined
    const kept: Kept = JSON.parse(readFileSync(path, 'utf8'))
    const isKept = Number.isFinite(kept.at) && kept.models.every((model) => typeof model === 'string')
    return isKept ? kept : undefined
  } catch {
    return undefined
  }
}

function keep(cache: string, path: string, kept: Kept): void {
  try {
    makePrivateDirectory(cache)
    // Another user who can write there could have created a symbolic link.
    if (!isOursAlone(cache)) return
    makePrivateDirectory(join(cache, 'models'))
    replaceFile(path, JSON.stringify(kept), { flush: false })
  } catch {
    // Without a cache, every Tab sends a request.
  }
}
