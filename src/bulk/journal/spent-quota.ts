import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readLines } from '../read-lines.ts'
import type { Spent } from '../send/quota-count.ts'
import { readJournalLine } from './journal-line.ts'

/**
 * What all imports of this machine have sent to a service in the window that is open, for a quota
 * applies to a key and not to a file (interface.md, "Limits"). Journals that a restart or a new run
 * has replaced count, too.
 *
 * @param quota.window ms; a window begins with its first request
 * @param quota.now ms since the epoch
 * @returns undefined where no window is open
 */
export async function readSpent(
  folder: string,
  { service, window, now }: { service: string; window: number; now: number },
): Promise<Spent | undefined> {
  const times: number[] = []
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (!/\.jsonl(\.old)?$/.test(name) || statSync(path).mtimeMs <= now - window) continue
    for await (const at of readTimes(path, service)) times.push(at)
  }
  let spent: Spent | undefined
  for (const at of Float64Array.from(times).sort()) {
    if (spent && at - spent.since < window) spent.requests++
    else spent = { since: at, requests: 1 }
  }
  return spent && now - spent.since < window ? spent : undefined
}

/** When each request of a journal left; none where it is of another service. */
async function* readTimes(path: string, service: string): AsyncGenerator<number> {
  for await (const text of readLines(path)) {
    const line = readJournalLine(text)
    if (line && 'type' in line && line.type === 'import' && line.service !== service) return
    if (line && 'row' in line && line.at !== undefined) yield line.at
  }
}
