import type { Connection } from '../../cli/context/connection.ts'
import type { Context } from '../../cli/context/context.ts'
import { describeFailure } from '../../cli/errors/describe-failure.ts'
import type { Client } from '../../client/client.ts'
import type { ClientEvent } from '../../client/client-event.ts'
import { Failure, type FailureKind } from '../../contract/failure.ts'
import type { Finding } from '../../view/checks.ts'

/** What the checks need. */
export interface Doctor {
  context: Context
  /** Of chatctl, and what it needs of Node.js, `22.19.0`. */
  version: { own: string; neededNode: string }
  /** Ms for one check, and for one attempt of a request. */
  bound: number
  /** @param observe receives the events of the client */
  connect(observe: (event: ClientEvent) => void): Promise<Client>
}

/** What a check has found, with what its exit code comes from, where it failed. */
export interface Examined {
  finding: Finding
  kind?: FailureKind
}

export function ok(check: string, message: string, hint: string | null = null): Examined {
  return { finding: { check, status: 'ok', message, hint } }
}

export function warning(check: string, message: string, hint: string | null = null): Examined {
  return { finding: { check, status: 'warning', message, hint } }
}

export function skipped(check: string, message: string): Examined {
  return { finding: { check, status: 'skipped', message, hint: null } }
}

/** @throws what is no `Failure`: a bug */
export function failed(check: string, error: unknown, connection?: Connection): Examined {
  if (!(error instanceof Failure)) throw error
  const { message, hint = null } = describeFailure(error, connection && { ...connection, isExamined: true })
  return { finding: { check, status: 'failed', message, hint }, kind: error.kind }
}
