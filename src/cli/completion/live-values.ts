import type { Configuration } from '../../config/configuration-file.ts'

/** Values from this machine or the service. A failure gives an empty list. */
export interface LiveValues {
  /** Empty if it cannot be read. */
  configuration(): Configuration
  /** @param flags of the line, which select the service */
  models(flags: { profile?: string; base_url?: string }): Promise<readonly string[]>
  /** The prompts of this machine. */
  prompts(): Promise<KnownPrompts>
  /** The latest sessions of this machine. */
  sessions(): Promise<readonly KnownSession[]>
}

interface KnownPrompts {
  names(): readonly string[]
  /** Empty for an unknown or invalid prompt. */
  variablesOf(name: string): readonly string[]
}

interface KnownSession {
  id: string
  contextId?: string | undefined
  name?: string | undefined
  /** Its name, or how it began. */
  title?: string | undefined
}
