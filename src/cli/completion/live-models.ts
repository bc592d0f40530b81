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

/** Asks a service for the ids of its models. */
export type AskForModels = (baseUrl: string, secret: string) => Promise<readonly string[]>

type Remote = Extract<Target, { kind: 'remote' }>

/** What was asked for is offered for so long, in ms. */
const life = 5 * 60_000

/** A service that did not answer is left alone for so long, in ms: every further Tab would wait for it again. */
const pause = 30_000

/** Ms that the keychain is waited for. */
const timeout = 500

/**
 * The models of the service that a line means, as they were some minutes ago at most. The embedded
 * service is not started for it, and a keychain that would have to ask somebody is left alone.
 *
 * @param said flags of the line
 * @throws Failure where the line or the configuration means no service
 */
export async function findModels(
  said: { profile?: string; base_url?: string },
  host: Host,
  ask: AskForModels,
): Promise<readonly string[]> {
  const { env, clock } = host
  const directories = new Directories(env)
  const configuration = once(() => readConfiguration(directories))
  const options = resolveOptions(said, env, configuration, {
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

/** Undefined where nobody is signed in, or the token would have to be renewed. */
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
    // Who can write there could have laid a link in the way of what is written.
    if (!isOursAlone(cache)) return
    makePrivateDirectory(join(cache, 'models'))
    replaceFile(path, JSON.stringify(kept), { flush: false })
  } catch {
    // Without a cache the service is asked each time.
  }
}
