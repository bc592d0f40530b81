import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readFileLines } from '../read-file-lines.ts'
import { readJournalLine } from './journal-line.ts'

/** The requests of the current window of a quota. */
export interface SpentQuota {
  /** Start of the window: Unix time in ms. */
  since: number
  requests: number
}

/**
 * Counts the requests of all imports of this machine to a service in the current window, because a quota
 * applies to a key and not to a file (docs/interface.md, "Limits"). Includes journals that a later run has
 * replaced.
 *
 * @param quota.window in ms; a window begins with its first request
 * @param quota.now Unix time in ms
 * @returns undefined if no window is open
 */
export async function readSpentQuota(
  directory: string,
  { service, window, now }: { service: string; window: number; now: number },
): Promise<SpentQuota | undefined> {
  const events: QuotaEvent[] = []
  for (const name of readdirSync(directory)) {
    const path = join(directory, name)
    if (!/\.jsonl(\.old)?$/.test(name)) continue
    try {
      if (statSync(path).mtimeMs <= now - window) continue
      for await (const event of readEvents(path, { service, window })) events.push(event)
    } catch (error) {
      // Another import may replace its journal at the same time.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  let spent: SpentQuota | undefined
  for (const { at, reported } of events.sort((one, other) => one.at - other.at)) {
    if (reported) spent = { ...reported }
    else if (spent && at - spent.since < window) spent.requests++
    else spent = { since: at, requests: 1 }
  }
  return spent && now - spent.since < window ? spent : undefined
}

/** A request, or the state of the window according to the service. */
interface QuotaEvent {
  at: number
  reported?: SpentQuota
}

/** Yields nothing if the journal is of another service. */
async function* readEvents(
  path: string,
  { service, window }: { service: string; window: number },
): AsyncGenerator<QuotaEvent> {
  for await (const text of readFileLines(path)) {
    const line = readJournalLine(text)
    if (line === undefined) continue
    if ('row' in line) {
      if (line.at !== undefined) yield { at: line.at }
    } else if (line.type === 'import' && line.service !== service) return
    else if (line.type === 'window' && line.length === window) {
      yield { at: line.at, reported: { since: line.since, requests: line.requests } }
    }
  }
}
