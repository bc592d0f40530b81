import type { Configuration } from '../../config/configuration-file.ts'

/** What only this machine or the service knows while a line is typed. Nothing here fails: it gives nothing. */
export interface LiveValues {
  /** Empty where it cannot be read. */
  configuration(): Configuration
  /** Of the service that the line means. @param said flags of the line, `profile` and `base_url` */
  models(said: { profile?: string; base_url?: string }): Promise<readonly string[]>
  /** The last ones of this machine. */
  sessions(): Promise<readonly KnownSession[]>
}

interface KnownSession {
  id: string
  contextId?: string | undefined
  /** Its name, or how it began. */
  title?: string | undefined
}
