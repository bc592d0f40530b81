import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { InsecureFile } from '../../auth/credentials/insecure-file.ts'
import { isFresh, secretOf } from '../../auth/credentials/stored-credential.ts'
import { type Configuration, readConfiguration } from '../../config/configuration-file.ts'
import { resolveOptions } from '../../config/resolve-options.ts'
import { resolveUpstream, type UpstreamChoice } from '../../config/resolve-upstream.ts'
import { decodeText } from '../../system/files/decode-text.ts'
import { Directories } from '../../system/files/directories.ts'
import { isOursAlone, makePrivateDirectory } from '../../system/files/private-directory.ts'
import { maxSecretBytes, readNamedFile } from '../../system/files/read-named-file.ts'
import { replaceFile } from '../../system/files/replace-file.ts'
import { once } from '../../system/once.ts'
import { chooseTarget, type Target } from '../context/target.ts'
import { ownerOf } from '../credential/credential-stores.ts'
import { type Host, resolvePath } from '../host.ts'

/** Where a list of models is. */
interface ModelList {
  baseUrl: string
  path: string
  /** Undefined for a model server without a key. */
  credential?: string | undefined
}

/** Requests the IDs of the models in a list. */
export type AskForModels = (list: ModelList) => Promise<readonly string[]>

type Remote = Extract<Target, { kind: 'remote' }>

/** How long a cached list is used, in ms. */
const life = 5 * 60_000

/** After a failed request, pause before the next one, in ms. Otherwise, every Tab would wait for it again. */
const pause = 30_000

/** Maximum wait for the keychain, in ms. */
const timeout = 500

/**
 * The models of the service that a line selects, cached for some minutes. Does not start the embedded
 * service, but asks its model server, and does not unlock the keychain.
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
    workingDirectory: resolvePath(host, '.'),
  })
  const target = chooseTarget(options, { env, resolvePath: (name) => resolvePath(host, name), maxWait: 0 })
  const upstream = target.kind === 'local' ? chosenUpstream(host, configuration()) : undefined
  if (target.kind === 'local' && !upstream) return []
  const cache = directories.cache
  const path = cachePath(cache, target.kind === 'local' ? [upstream?.url] : aboutRemote(target))
  const kept = readKept(cache, path)
  if (kept && Math.abs(clock.now() - kept.at) < life) return kept.models
  try {
    const list = target.kind === 'local' ? listOf(upstream) : await remoteList(target, configuration, host)
    const models = list === undefined ? (kept?.models ?? []) : await ask(list)
    keep(cache, path, { at: clock.now(), models })
    return models
  } catch {
    const models = kept?.models ?? []
    keep(cache, path, { at: clock.now() - life + pause, models })
    return models
  }
}

type Upstream = UpstreamChoice['server']

function chosenUpstream(host: Host, configuration: Configuration): Upstream {
  return resolveUpstream({ name: '' }, host.env, configuration, (name) => resolvePath(host, name)).server
}

/** @throws Failure if the file of its key cannot be read */
function listOf(server: Upstream): ModelList | undefined {
  if (server === undefined) return undefined
  const file = { maxBytes: maxSecretBytes, isSecret: true, isRegular: true, kind: 'refused' } as const
  const key = server.keyFile && decodeText(readNamedFile(server.keyFile, file), server.keyFile).trim()
  return { baseUrl: server.url, path: '/models', credential: key || undefined }
}

/** Undefined without a credential that can be used now. */
async function remoteList(
  target: Remote,
  configuration: () => Configuration,
  host: Host,
): Promise<ModelList | undefined> {
  const credential = target.fromEnvironment?.secret ?? (await storedSecret(target, configuration, host))
  if (credential === undefined) return undefined
  const { endpoints } = await import('../../contract/endpoints.ts')
  return { baseUrl: target.baseUrl, path: endpoints.listModels.path, credential }
}

/** Undefined if the profile is not signed in, or the token must be renewed. Tab runs no credential command. */
async function storedSecret(
  { profile, baseUrl, identity, command }: Remote,
  configuration: () => Configuration,
  host: Host,
): Promise<string | undefined> {
  if (profile === undefined || identity || command !== undefined) return undefined
  const isInFile = configuration().profiles?.[profile]?.storage === 'file'
  const store = isInFile
    ? new InsecureFile(new Directories(host.env))
    : host.openKeychain({ timeout, onWait: () => {}, mayAsk: false })
  const stored = await store.read(ownerOf(configuration(), profile, baseUrl))
  if (!stored || (stored.kind === 'oauth' && !isFresh(stored, host.clock.now()))) return undefined
  return secretOf(stored)
}

interface Kept {
  /** Ms since the epoch. */
  at: number
  models: readonly string[]
}

function aboutRemote({ baseUrl, profile, fromEnvironment }: Remote): readonly unknown[] {
  return [baseUrl, profile ?? null, fromEnvironment !== undefined]
}

/** @param about what the models depend on */
function cachePath(cache: string, about: readonly unknown[]): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  const name = createHash('sha256').update(JSON.stringify(about)).digest('hex').slice(0, 32)
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
