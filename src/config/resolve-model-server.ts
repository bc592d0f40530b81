import { noModelServer, readModelServer } from '../contract/model-server-address.ts'
import type { Configuration } from './configuration-file.ts'
import { unreadable } from './option-values.ts'
import type { Source } from './resolve-options.ts'

interface ModelServerValues {
  modelServer?: string | undefined
  keyFile?: string | undefined
}

/** `name` is that of the flag. */
export type ModelServerFlags = ModelServerValues & { name: string }

/** Which model server replies in place of the built-in test program. */
export interface ModelServerChoice {
  /** Undefined for the built-in test program. */
  server: { url: string; keyFile: string | undefined } | undefined
  /** `default` if it was never chosen. */
  source: Source
  /** Name of the flag or variable, or the configuration file. */
  from: string
}

interface Level extends ModelServerValues {
  source: Source
  from: string
}

/**
 * Precedence: flag, environment, configuration, else the built-in test program.
 * @param resolvePath resolves a path against the working directory
 * @throws Failure `config` or `usage` for an invalid value, with its source
 */
export function resolveModelServer(
  flags: ModelServerFlags,
  env: NodeJS.ProcessEnv,
  configuration: Configuration,
  resolvePath: (name: string) => string,
): ModelServerChoice {
  const levels: readonly Level[] = [
    { ...flags, source: 'flag', from: flags.name },
    {
      modelServer: env['CHATCTL_MODEL_SERVER'] || undefined,
      keyFile: env['CHATCTL_MODEL_SERVER_KEY_FILE'] || undefined,
      source: 'environment',
      from: 'CHATCTL_MODEL_SERVER',
    },
    {
      modelServer: configuration.model_server,
      keyFile: configuration.model_server_key_file,
      source: 'profile',
      from: 'the configuration file',
    },
  ]
  const inForce = levels.find(({ modelServer }) => modelServer !== undefined)
  if (!inForce) return { server: undefined, source: 'default', from: '' }
  const { source, from } = inForce
  const url = readLevel(inForce)
  const keyFile = url && findKeyFile(levels, url)
  const resolved = keyFile === undefined ? undefined : resolvePath(keyFile)
  return { server: url && { url: url.href, keyFile: resolved }, source, from }
}

/**
 * A key belongs to the model server that it was configured with: that of the same source, or the next one. It is
 * not sent to another origin, which a flag or the environment selects for one run. Without any, the key of a
 * flag or the environment belongs to this run; a stored key was edited into the file, and belongs to none.
 */
function findKeyFile(levels: readonly Level[], url: URL): string | undefined {
  return levels.find(({ keyFile, source }, index) => {
    if (keyFile === undefined) return false
    const owner = levels.slice(index).find(({ modelServer }) => modelServer !== undefined)
    if (owner === undefined) return source !== 'profile'
    return readLevel(owner)?.origin === url.origin
  })?.keyFile
}

function readLevel({ modelServer = noModelServer, from }: Level): URL | undefined {
  if (modelServer === noModelServer) return undefined
  try {
    return readModelServer(modelServer)
  } catch (error) {
    throw unreadable(from, modelServer, error)
  }
}
