import { appendFileSync, closeSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { tryParse } from '../../contract/notation/exact-json.ts'
import { type Clock, isoNow } from '../../system/clock.ts'
import type { Directories } from '../../system/files/directories.ts'
import { makePrivateDirectory, unusableStateDirectory } from '../../system/files/private-directory.ts'
import { withFileLock } from '../../system/files/process-lock.ts'

/** Maximum window of a quota, in ms. */
const maxWindow = 24 * 3600 * 1000

/** A request. */
interface QuotaLine {
  service: string
  /** Unix time in ms. */
  at: number
}

/**
 * The requests of all runs of this machine to a service, because a quota applies to a key and not to a file
 * (docs/interface.md, "Limits").
 */
export class SpentQuota {
  readonly #directory: string
  readonly #service: string
  readonly #clock: Clock
  /** Numbers of bytes that were read, by file. */
  readonly #read = new Map<string, number>()
  #isReady = false

  constructor({ directories, service, clock }: { directories: Directories; service: string; clock: Clock }) {
    this.#directory = join(directories.state, 'quota')
    this.#service = service
    this.#clock = clock
  }

  /** Adds a request that is sent now. @throws Failure `storage` */
  add(): void {
    const line: QuotaLine = { service: this.#service, at: this.#clock.now() }
    const path = join(this.#directory, `${isoNow(this.#clock).slice(0, 10)}.jsonl`)
    try {
      this.#prepare()
      // A full disk may have truncated the last line.
      appendFileSync(path, `\n${JSON.stringify(line)}\n`, { mode: 0o600 })
    } catch (cause) {
      throw this.#unusable(cause)
    }
  }

  /** The times of the requests since the last call, those of this run included, in order. */
  takeNew(): number[] {
    const times = this.#recentFiles().flatMap((path) => this.#takeNew(path))
    return times.sort((one, other) => one - other)
  }

  /** Counts and adds requests while no other run does. @throws Failure `storage`; what `change` throws */
  async lock(change: () => void): Promise<void> {
    try {
      this.#prepare()
      await withFileLock(this.#directory, change)
    } catch (cause) {
      throw cause instanceof Failure ? cause : this.#unusable(cause)
    }
  }

  #prepare(): void {
    if (this.#isReady) return
    makePrivateDirectory(this.#directory)
    // Only a run with a quota reads the files, and all remove the old ones.
    this.#recentFiles()
    this.#isReady = true
  }

  #unusable(cause: unknown): Failure {
    const content = 'the number of requests in the window of a quota there'
    return unusableStateDirectory(this.#directory, content, cause)
  }

  #takeNew(path: string): number[] {
    let bytes: Buffer
    const start = this.#read.get(path) ?? 0
    try {
      const { size } = statSync(path)
      if (size === start) return []
      bytes = readRange(path, start, size)
    } catch {
      // Another run may remove it at the same time.
      return []
    }
    const end = bytes.lastIndexOf('\n') + 1
    this.#read.set(path, start + end)
    const lines = bytes.toString('utf8', 0, end).split('\n')
    return lines.flatMap((text) => {
      const line = tryParse(text) as QuotaLine | undefined
      return line?.service === this.#service ? [line.at] : []
    })
  }

  /** The files with requests of the maximum window. Removes the others. */
  #recentFiles(): string[] {
    let names: string[] = []
    try {
      names = readdirSync(this.#directory)
    } catch {}
    return names
      .map((name) => join(this.#directory, name))
      .filter((path) => {
        try {
          if (statSync(path).mtimeMs > this.#clock.now() - maxWindow) return true
          rmSync(path, { force: true })
        } catch {
          // Another run may remove it at the same time.
        }
        return false
      })
  }
}

function readRange(path: string, start: number, end: number): Buffer {
  const bytes = Buffer.alloc(Math.max(0, end - start))
  const file = openSync(path, 'r')
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, start))
  } finally {
    closeSync(file)
  }
}
