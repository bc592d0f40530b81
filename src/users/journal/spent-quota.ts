import { randomUUID } from 'node:crypto'
import { appendFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfiguredQuota } from '../../config/quota.ts'
import type { Clock } from '../../system/clock.ts'
import type { Directories } from '../../system/files/directories.ts'
import { makePrivateDirectory, unusableStateDirectory } from '../../system/files/private-directory.ts'
import { readFileLines } from '../read-file-lines.ts'
import type { SpentQuota } from '../send/known-quota.ts'
import type { ThrottleOptions } from '../send/throttle.ts'
import { type JournalLine, readJournalLine } from './journal-line.ts'
import { importsDirectory } from './open-journal.ts'

/** Maximum window of a quota, in ms. */
const longestWindow = 24 * 3600 * 1000

interface CountedRun {
  directories: Directories
  service: string
  quota?: ConfiguredQuota | undefined
  clock: Clock
}

/**
 * Counts the requests of a run that has no journal, for later runs.
 *
 * @returns options of a throttle
 * @throws Failure `storage`
 */
export async function countAcrossRuns({
  directories,
  service,
  quota,
  clock,
}: CountedRun): Promise<Pick<ThrottleOptions, 'spent' | 'onRequest' | 'onWindow'>> {
  if (!quota) return {}
  const directory = importsDirectory(directories)
  const path = join(directory, `quota-${randomUUID()}.jsonl`)
  const append = (...lines: readonly JournalLine[]) => {
    try {
      makePrivateDirectory(directory)
      for (const line of lines) appendFileSync(path, `${JSON.stringify(line)}\n`, { mode: 0o600 })
    } catch (cause) {
      throw unusableStateDirectory(directory, 'the number of requests in the window of a quota there', cause)
    }
  }
  append()
  return {
    spent: await readSpentQuota(directory, { service, window: quota.window, now: clock.now() }),
    onRequest: () => append({ type: 'request', service, at: clock.now() }),
    onWindow: (window) =>
      append({ type: 'window', service, at: clock.now(), length: quota.window, ...window }),
  }
}

/**
 * Counts the requests of all runs of this machine to a service in the current window, because a quota applies to a
 * key and not to a file (docs/interface.md, "Limits"). Includes journals that a later run has replaced.
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
      const { mtimeMs } = statSync(path)
      if (name.startsWith('quota-') && mtimeMs <= now - longestWindow) rmSync(path, { force: true })
      if (mtimeMs <= now - window) continue
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

/** Yields nothing if the file is of another service. */
async function* readEvents(
  path: string,
  { service, window }: { service: string; window: number },
): AsyncGenerator<QuotaEvent> {
  for await (const text of readFileLines(path)) {
    const line = readJournalLine(text)
    if (line === undefined) continue
    if ('row' in line) {
      if (line.at !== undefined) yield { at: line.at }
    } else if ('service' in line && line.service !== service) return
    else if (line.type === 'request') yield { at: line.at }
    else if (line.type === 'window' && line.length === window) {
      yield { at: line.at, reported: { since: line.since, requests: line.requests } }
    }
  }
}
