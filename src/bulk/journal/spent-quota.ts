import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readFileLines } from '../read-file-lines.ts'
import { readJournalLine } from './journal-line.ts'

/** Requests that have left since the window began, in milliseconds since the epoch. */
export interface Spent {
  since: number
  requests: number
}

/**
 * What all imports of this machine have sent to a service in the window that is open, for a quota
 * applies to a key and not to a file (docs/interface.md, "Limits"). Journals that a restart or a new run
 * has replaced count, too.
 *
 * @param quota.window ms; a window begins with its first request
 * @param quota.now ms since the epoch
 * @returns undefined where no window is open
 */
export async function readSpent(
  directory: string,
  { service, window, now }: { service: string; window: number; now: number },
): Promise<Spent | undefined> {
  const events: Sent[] = []
  for (const name of readdirSync(directory)) {
    const path = join(directory, name)
    if (!/\.jsonl(\.old)?$/.test(name)) continue
    try {
      if (statSync(path).mtimeMs <= now - window) continue
      for await (const event of readEvents(path, { service, window })) events.push(event)
    } catch (error) {
      // Another import may replace its journal meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  let spent: Spent | undefined
  for (const { at, named } of events.sort((one, other) => one.at - other.at)) {
    if (named) spent = { ...named }
    else if (spent && at - spent.since < window) spent.requests++
    else spent = { since: at, requests: 1 }
  }
  return spent && now - spent.since < window ? spent : undefined
}

/** A request that left, or what was spent when the service named its window. */
interface Sent {
  at: number
  named?: Spent
}

/** None where the journal is of another service. */
async function* readEvents(
  path: string,
  { service, window }: { service: string; window: number },
): AsyncGenerator<Sent> {
  for await (const text of readFileLines(path)) {
    const line = readJournalLine(text)
    if (line === undefined) continue
    if ('row' in line) {
      if (line.at !== undefined) yield { at: line.at }
    } else if (line.type === 'import' && line.service !== service) return
    else if (line.type === 'window' && line.length === window) {
      yield { at: line.at, named: { since: line.since, requests: line.requests } }
    }
  }
}
