import type { Outcome } from '../contract/failure.ts'
import type { Line } from '../system/files/shared-lines.ts'
import { type IntentRecord, type OutcomeRecord, readRecord } from './record.ts'

/** A change that chatctl sent from this machine, with its outcome. */
export interface LedgerEntry extends Omit<IntentRecord, 'email' | 'email_as' | 'user' | 'about'> {
  /** Of a new user, as it was sent. */
  email: string | null
  /** Of the user that the change is about, or that it created. */
  user_id: string | null
  outcome: Outcome
  status: number | null
  request_id: string | null
  /** Why it failed. Null if it did not fail, or if the run ended before the outcome was known. */
  error: string | null
  /** ID of the run that has settled the outcome afterwards. */
  settledBy?: string | undefined
  /** In the ledger. A later change has a higher one, whatever the clock said. */
  position: number
}

/** The changes in lines of a ledger, in their order. Of several outcomes of a change, the last one applies. */
export function changesIn(lines: Iterable<Line>): LedgerEntry[] {
  const intents: [intent: IntentRecord, position: number][] = []
  const outcomes = new Map<string, OutcomeRecord>()
  for (const { text, at } of lines) {
    const record = readRecord(text)
    // The user of a creation that was settled remains.
    if (record && 'of' in record)
      outcomes.set(record.of, { ...record, user: record.user ?? outcomes.get(record.of)?.user })
    else if (record && 'id' in record) intents.push([record, at])
  }
  return intents.map(([intent, position]) => entryOf(intent, position, outcomes.get(intent.id)))
}

/** @param known the last outcome. Reading a user has none: it has shown the email. */
export function entryOf(
  { email, email_as: written, user, about: _, ...intent }: IntentRecord,
  position: number,
  known: OutcomeRecord | undefined,
): LedgerEntry {
  return {
    ...intent,
    email: written ?? email ?? null,
    user_id: known?.user ?? user ?? null,
    outcome: known?.did ?? (intent.method === 'GET' ? 'done' : 'unknown'),
    status: known?.status ?? null,
    request_id: known?.request_id ?? null,
    error: known?.error ?? null,
    settledBy: known?.by,
    position,
  }
}
