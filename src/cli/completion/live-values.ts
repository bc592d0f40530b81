import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { InsecureFile } from '../../auth/credentials/insecure-file.ts'
import { isFresh, secretOf } from '../../auth/credentials/stored-credential.ts'
import { type Configuration, readConfiguration } from '../../config/configuration-file.ts'
import { profileHere } from '../../config/profile-directories.ts'
import { resolveModelServer } from '../../config/resolve-model-server.ts'
import { resolveOptions } from '../../config/resolve-options.ts'
import { orElse } from '../../contract/or-else.ts'
import { Directories } from '../../system/files/directories.ts'
import { isOursAlone, makePrivateDirectory } from '../../system/files/private-directory.ts'
import { maxSecretBytes, readNamedFile } from '../../system/files/read-named-file.ts'
import { decodeText } from '../../system/files/read-text-files.ts'
import { replaceFile } from '../../system/files/replace-file.ts'
import { chooseTarget, type RemoteTarget } from '../context/target.ts'
import { ownerOf } from '../credential/credential-stores.ts'
import { type Host, resolvePath } from '../host.ts'
import type { LiveValues } from './suggestions.ts'

/** Where a list of models is. */
interface ModelList {
  baseUrl: string
  path: string
  /** Undefined for a model server without a key. */
  credential?: string | undefined
}

export type AskForModels = (list: ModelList) => Promise<readonly string[]>

/** How long a cached list is used, in ms. */
const life = 5 * 60_000

/** After a failed request, pause before the next one, in ms. Otherwise, every Tab would wait for it again. */
const pause = 30_000

/** Maximum wait for the keychain, in ms. */
const timeout = 500

/** The values of this machine, and of the service that a line selects. A failure gives an empty list. */
export function createLiveValues(
  host: Host,
  ask: AskForModels,
  findSessions: (directories: Directories, word: string) => ReturnType<LiveValues['sessions']>,
): LiveValues {
  const directories = new Directories(host.env)
  return {
    // The profile of the working directory takes precedence over the default profile.
    configuration: () => {
      try {
        const configuration = readConfiguration(directories)
        const here = profileHere(configuration, resolvePath(host, '.'), host.env)
        return here ? { ...configuration, default_profile: here.value } : configuration
      } catch {
        // `doctor` reports it.
        return {}
      }
    },
    models: (flags) => findModels(flags, host, ask).catch(() => []),
    prompts: () => findPrompts(directories),
    sessions: (word) => findSessions(directories, word).catch(() => []),
  }
}

async function findPrompts(directories: Directories): Promise<Map<string, readonly string[]>> {
  const { parsePrompt } = await import('../../config/prompts/prompt-file.ts')
  const { PromptLibrary } = await import('../../config/prompts/prompt-library.ts')
  const library = new PromptLibrary(directories)
  const variablesOf = (name: string) => orElse(() => parsePrompt(name, library.read(name)).variables, [])
  return new Map(library.names().map((name) => [name, variablesOf(name)]))
}

/**
 * The models of the service that a line selects, cached for some minutes. Does not start the embedded
 * service, but asks its model server, and does not unlock the keychain.
 * @throws Failure if the line and the configuration select no service
 */
async function findModels(
  flags: { profile?: string | undefined; base_url?: string | undefined },
  host: Host,
  ask: AskForModels,
): Promise<readonly string[]> {
  const { env, clock } = host
  const directories = new Directories(env)
  const configuration = readConfiguration(directories)
  const inHost = (name: string): string => resolvePath(host, name)
  const options = resolveOptions(flags, env, () => configuration, {
    mayNameNewProfile: false,
    takesProfileOfAddress: false,
    workingDirectory: inHost('.'),
  })
  const target = chooseTarget(options, { env, resolvePath: inHost })
  const modelServer = resolveModelServer({ name: '' }, env, configuration, inHost).server
  if (target.kind === 'local' && !modelServer) return []
  const about =
    target.kind === 'local'
      ? [modelServer?.url]
      : [target.baseUrl, target.profile ?? null, target.fromEnvironment !== undefined]
  const path = cachePath(directories.cache, about)
  const kept = readKept(path)
  if (kept && clock.now() < kept.until) return kept.models
  try {
    const list =
      target.kind === 'local' ? modelServerList(modelServer) : await remoteList(target, configuration, host)
    const models = list === undefined ? (kept?.models ?? []) : await ask(list)
    keep(path, { until: clock.now() + life, models })
    return models
  } catch {
    const models = kept?.models ?? []
    keep(path, { until: clock.now() + pause, models })
    return models
  }
}

/** @throws Failure if the file of its key cannot be read */
function modelServerList(server: ReturnType<typeof resolveModelServer>['server']): ModelList | undefined {
  if (server === undefined) return undefined
  const file = { maxBytes: maxSecretBytes, isSecret: true, isRegular: true, kind: 'refused' } as const
  const key = server.keyFile && decodeText(readNamedFile(server.keyFile, file), server.keyFile).trim()
  return { baseUrl: server.url, path: '/models', credential: key || undefined }
}

/** Undefined if the profile is not signed in, or the token must be renewed. Tab runs no credential command. */
async function remoteList(
  { profile, baseUrl, identity, command, fromEnvironment }: RemoteTarget,
  configuration: Configuration,
  host: Host,
): Promise<ModelList | undefined> {
  const { endpoints } = await import('../../contract/endpoints.ts')
  const list = { baseUrl, path: endpoints.listModels.path }
  if (fromEnvironment) return { ...list, credential: fromEnvironment.secret }
  if (profile === undefined || identity || command !== undefined) return undefined
  const isInFile = configuration.profiles?.[profile]?.storage === 'file'
  const store = isInFile
    ? new InsecureFile(new Directories(host.env))
    : host.openKeychain({ timeout, onWait: () => {}, mayAsk: false })
  const stored = await store.read(ownerOf(configuration, profile, baseUrl))
  if (!stored || (stored.kind === 'oauth' && !isFresh(stored, host.clock.now()))) return undefined
  return { ...list, credential: secretOf(stored) }
}

interface Kept {
  /** Ms since the epoch. */
  until: number
  models: readonly string[]
}

/** @param about what the models depend on */
function cachePath(cache: string, about: readonly unknown[]): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  const name = createHash('sha256').update(JSON.stringify(about)).digest('hex').slice(0, 32)
  return join(cache, 'models', `${name}.json`)
}

function readKept(path: string): Kept | undefined {
  try {
    if (!isOursAlone(dirname(dirname(path)))) return undefined
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function keep(path: string, kept: Kept): void {
  try {
    const cache = dirname(dirname(path))
    makePrivateDirectory(cache)
    // Another user who can write there could have created a symbolic link.
    if (!isOursAlone(cache)) return
    makePrivateDirectory(dirname(path))
    replaceFile(path, JSON.stringify(kept), { flush: false })
  } catch {
    // Without a cache, every Tab sends a request.
  }
}
