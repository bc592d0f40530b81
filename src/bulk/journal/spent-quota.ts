import { randomUUID } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfiguredQuota } from '../../config/quota.ts'
import type { Clock } from '../../system/clock.ts'
import type { Directories } from '../../system/files/directories.ts'
import { makePrivateDirectory, unusableStateDirectory } from '../../system/files/private-directory.ts'
import type { SpentQuota } from '../send/known-quota.ts'
import type { ThrottleOptions } from '../send/throttle.ts'

/** Maximum window of a quota, in ms. */
const maxWindow = 24 * 3600 * 1000

/** A request. */
interface QuotaLine {
  service: string
  /** Unix time in ms. */
  at: number
}

/**
 * Counts the requests of a run, for later runs.
 *
 * @returns options of a throttle
 * @throws Failure `storage`
 */
export function countAcrossRuns(
  { directories, service, clock }: { directories: Directories; service: string; clock: Clock },
  quota?: ConfiguredQuota,
): Pick<ThrottleOptions, 'spent' | 'onRequest'> {
  const directory = join(directories.state, 'quota')
  const path = join(directory, `${randomUUID()}.jsonl`)
  let isReady = false
  const onRequest = () => {
    try {
      if (!isReady) {
        makePrivateDirectory(directory)
        // Only a run with a quota reads the files.
        findRecords(directory, clock.now())
      }
      isReady = true
      const line: QuotaLine = { service, at: clock.now() }
      appendFileSync(path, `${JSON.stringify(line)}\n`, { mode: 0o600 })
    } catch (cause) {
      throw unusableStateDirectory(directory, 'the number of requests in the window of a quota there', cause)
    }
  }
  const spent = quota && readSpentQuota(directory, { service, window: quota.window, now: clock.now() })
  return { spent, onRequest }
}

/**
 * Counts the requests of all runs of this machine to a service in the current window, because a quota applies to a
 * key and not to a file (docs/interface.md, "Limits").
 *
 * @param quota.window in ms; a window begins with its first request
 * @param quota.now Unix time in ms
 * @returns undefined if no window is open
 */
export function readSpentQuota(
  directory: string,
  { service, window, now }: { service: string; window: number; now: number },
): SpentQuota | undefined {
  const lines = readLines(directory, now).filter((line) => line.service === service)
  let spent: SpentQuota | undefined
  for (const { at } of lines.sort((one, other) => one.at - other.at)) {
    if (spent && at - spent.since < window) spent.requests++
    else spent = { since: at, requests: 1 }
  }
  return spent && now - spent.since < window ? spent : undefined
}

/** The files of the runs in the maximum window. Removes the others. */
function findRecords(directory: string, now: number): string[] {
  let names: string[] = []
  try {
    names = readdirSync(directory)
  } catch {}
  return names
    .map((name) => join(directory, name))
    .filter((path) => {
      try {
        if (statSync(path).mtimeMs > now - maxWindow) return true
        rmSync(path, { force: true })
      } catch {
        // Another run may remove it at the same time.
      }
      return false
    })
}

function readLines(directory: string, now: number): QuotaLine[] {
  return findRecords(directory, now).flatMap((path) => {
    try {
      const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
      return lines.map((text): QuotaLine => JSON.parse(text))
    } catch {
      // Another run may remove it at the same time, and a full disk may truncate a line.
      return []
    }
  })
}
