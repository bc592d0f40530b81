import { noUpstream, readUpstream } from '../contract/upstream-address.ts'
import type { Configuration } from './configuration-file.ts'
import { unreadable } from './option-values.ts'
import type { Source } from './resolve-options.ts'

/** The values of one source. */
interface UpstreamValues {
  upstream?: string | undefined
  keyFile?: string | undefined
}

/** `name` is that of the flag. */
export type UpstreamFlags = UpstreamValues & { name: string }

/** Which model server replies in place of the built-in test program. */
export interface UpstreamChoice {
  /** Undefined for the built-in test program. */
  server: { url: string; keyFile: string | undefined } | undefined
  /** `default` if it was never chosen. */
  source: Source
  /** Name of the flag or variable, or the configuration file. */
  from: string
}

interface Level extends UpstreamValues {
  source: Source
  from: string
}

/**
 * Precedence: flag, environment, configuration, else the built-in test program.
 *
 * @param resolvePath resolves a path against the working directory
 * @throws Failure `config` or `usage` for an invalid value, with its source
 */
export function resolveUpstream(
  flags: UpstreamFlags,
  env: NodeJS.ProcessEnv,
  configuration: Configuration,
  resolvePath: (name: string) => string,
): UpstreamChoice {
  const levels: readonly Level[] = [
    { ...flags, source: 'flag', from: flags.name },
    {
      upstream: env['CHATCTL_UPSTREAM'] || undefined,
      keyFile: env['CHATCTL_UPSTREAM_KEY_FILE'] || undefined,
      source: 'environment',
      from: 'CHATCTL_UPSTREAM',
    },
    {
      upstream: configuration.upstream,
      keyFile: configuration.upstream_key_file,
      source: 'profile',
      from: 'the configuration file',
    },
  ]
  const inForce = levels.find(({ upstream }) => upstream !== undefined)
  if (!inForce) return { server: undefined, source: 'default', from: '' }
  const { source, from } = inForce
  const url = readLevel(inForce)
  const keyFile = url && findKeyFile(levels, url)
  const resolved = keyFile === undefined ? undefined : resolvePath(keyFile)
  return { server: url && { url: url.href, keyFile: resolved }, source, from }
}

/**
 * A key belongs to the upstream that it was configured with: that of the same source, or the next one. It is
 * not sent to another origin, which a flag or the environment selects for one run. Without any, the key of a
 * flag or the environment belongs to this run; a stored key was edited into the file, and belongs to none.
 */
function findKeyFile(levels: readonly Level[], url: URL): string | undefined {
  return levels.find(({ keyFile, source }, index) => {
    if (keyFile === undefined) return false
    const owner = levels.slice(index).find(({ upstream }) => upstream !== undefined)
    if (owner === undefined) return source !== 'profile'
    return readLevel(owner)?.origin === url.origin
  })?.keyFile
}

function readLevel({ upstream = noUpstream, from }: Level): URL | undefined {
  if (upstream === noUpstream) return undefined
  try {
    return readUpstream(upstream)
  } catch (error) {
    throw unreadable(from, upstream, error)
  }
}
