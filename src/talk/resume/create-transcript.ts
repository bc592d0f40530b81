import type { Session } from '../session.ts'
import { TranscriptWriter } from '../transcript/transcript-writer.ts'

/** A new transcript, which lies nowhere until something is said. */
export function createTranscript({ options: { sessionsDirectory, owner } }: Session): TranscriptWriter {
  const { profile = null, baseUrl = null } = owner
  return TranscriptWriter.create(sessionsDirectory, { profile, baseUrl })
}
