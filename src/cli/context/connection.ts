import type { Source } from '../../config/resolve-options.ts'
import { commandLine } from '../command-line.ts'
import type { LocalService } from './local-service.ts'

/** The service that a run sends requests to, as errors and hints name it. */
export interface Connection {
  /** Undefined for the embedded service. */
  baseUrl: string | undefined
  /** Where the base URL comes from; `login` while its profile is being signed in. */
  baseUrlFrom: Source | 'login'
  profile: string | undefined
  /** The embedded service, once it has been asked. */
  localService?: LocalService
  /** What to do if the service rejects the credential. */
  refusalHint?: string | undefined
  /** Whether `doctor` examines it, so that no hint suggests `doctor`. */
  isExamined?: boolean
}

/** A command line for the service of a connection, to be pasted into a shell. */
export function commandForConnection(
  { baseUrl, baseUrlFrom, profile }: Connection,
  ...words: readonly string[]
): string {
  const isProfiles = baseUrlFrom === 'profile' || baseUrlFrom === 'default'
  const named =
    profile !== undefined
      ? ['--profile', profile, ...(isProfiles || baseUrl === undefined ? [] : ['--base-url', baseUrl])]
      : baseUrl === undefined
        ? []
        : ['--base-url', baseUrl]
  return commandLine(...words, ...named)
}
