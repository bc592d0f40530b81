import type { RequestOutcome } from '../contract/failure.ts'
import type { RecordedChange } from './change.ts'

/** The run that sent a change. */
export interface ActivityRun {
  /** Null if no profile was selected. */
  profile: string | null
  /** Base URL of the service; `local` for the embedded service. */
  service: string
  /** As typed: `users update`. */
  command: string
}

/** Written before a change is sent. */
export interface SentLine extends ActivityRun, RecordedChange {
  v: 1
  /** The same in every line about a change; unique on this machine. */
  id: string
  /** ISO 8601 UTC. */
  at: string
}

/** Written when the outcome of a change is known. The last one of a change applies. */
export interface OutcomeLine {
  id: string
  outcome: RequestOutcome['outcome']
  status?: number
  request_id?: string
  created_id?: string
  error?: string
}

export function outcomeLine(id: string, known: RequestOutcome): OutcomeLine {
  const { outcome, status, requestId, createdId, error } = known
  return {
    id,
    outcome,
    status,
    request_id: requestId?.slice(0, 200),
    created_id: createdId?.slice(0, 200),
    error,
  }
}
