import { Failure } from '../../contract/failure.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import type { DocumentFile } from '../../system/files/document-file.ts'
import { LineLog } from '../../system/files/line-log.ts'
import { countOf } from '../../view/format/quantities.ts'
import {
  appendedResult,
  checkedResults,
  readResults,
  type WrittenResult,
  writeResults,
} from './results-file.ts'

/** What is known before a run. Emails are in lower case. */
interface EarlierRuns {
  /** The emails of the users who may get a generated password. */
  emails: readonly string[]
  /** Whether an earlier import or apply may have created the user. */
  mayHaveSent(email: string): boolean
  /** Whether an import or apply of any file may have (default: as `mayHaveSent`). */
  wasSent?(email: string): boolean
  /**
   * The ID of a user who was certainly created. If given, the rows of other emails stay in the file. Otherwise, those
   * with a password are refused.
   */
  idOfOther?(email: string): string | undefined
}

/**
 * A results file, and the passwords that are generated into it. During a run, it is a log: the password of a create is
 * flushed to disk before it is sent, with the outcome `unknown`, and the outcome follows. The last line of an email
 * applies. A create that is sent again gets the same password.
 *
 * Call `open`, then `passwordOf` before the intent of each create and `settle` after it, and then `finish`.
 */
export class GeneratedPasswords {
  readonly #file: DocumentFile
  readonly #make: (() => string) | undefined
  #unlock: (() => void) | undefined
  #earlier: EarlierRuns = { emails: [], mayHaveSent: () => false }
  /** The lines of the file before this run, and the last one of each email in lower case, also of this run. */
  #lines: readonly WrittenResult[] = []
  readonly #last = new Map<string, WrittenResult>()
  /** New passwords that were perhaps never sent, and the emails whose outcome this run knows. */
  readonly #unsent = new Set<string>()
  readonly #settled = new Set<string>()
  #beginning: Promise<LineLog> | undefined
  #log: LineLog | undefined

  /** @param make generates a password (default: only those of earlier runs are sent). @throws as `checkedResults` */
  constructor(path: string, make: (() => string) | undefined) {
    this.#file = checkedResults(path, make !== undefined)
    this.#make = make
  }

  /**
   * Locks the file until `finish` or `close`, because two processes would lose passwords, and reads it.
   * @returns a warning, if the file does not have all passwords
   * @throws Failure `refused` if the file is not a results file; `usage` if it has passwords of other users; `conflict`
   *   if another process has the lock; `storage`
   */
  open(earlier: EarlierRuns): string | undefined {
    this.#unlock = this.#file.lock()
    try {
      return this.#read(earlier)
    } catch (error) {
      this.close()
      throw error
    }
  }

  #read(earlier: EarlierRuns): string | undefined {
    this.#earlier = earlier
    this.#lines = readResults(this.#file.path)
    for (const line of this.#lines) {
      // An invalid row may have no email, or that of another row.
      if (line.email !== '' && (line.password || line.status !== 'skipped')) this.#last.set(keyOf(line), line)
    }
    const keys = new Set(earlier.emails.map((email) => email.toLowerCase()))
    const others = [...this.#last].filter(([key, { password }]) => password && !keys.has(key))
    if (others.length > 0 && !earlier.idOfOther) {
      const words = `Cannot overwrite ${this.#file.path}: it contains generated passwords of users that are not in the input`
      throw new Failure('usage', words, { hint: 'Choose another file with --results, or move that file.' })
    }
    const lost = [...keys].filter((key) => !this.#last.get(key)?.password && earlier.mayHaveSent(key)).length
    if (!this.#make || lost === 0) return undefined
    return `${this.#file.path} does not have the passwords of ${countOf(lost, 'user')} that were sent in an earlier run`
  }

  /**
   * The password of a create that is about to be sent. It is on disk when the promise resolves.
   * @returns undefined if none is generated, also because an earlier create with another password may have succeeded
   * @throws Failure `storage`
   */
  async passwordOf({ email, line }: Pick<WrittenResult, 'email' | 'line'>): Promise<string | undefined> {
    const key = email.toLowerCase()
    const known = this.#last.get(key)?.password
    const make = this.#earlier.mayHaveSent(key) ? undefined : this.#make
    if (!known && !make) return undefined
    this.#beginning ??= this.#begin()
    const log = await this.#beginning
    if (known || !make) return known
    const error = 'the run ended before a response arrived'
    const row = { line, email, id: '', status: 'unknown', error, password: make() } as const
    this.#last.set(key, row)
    this.#unsent.add(key)
    log.append(appendedResult(this.#file.path, row))
    await log.flush()
    return row.password
  }

  /**
   * Notes the outcome of a create, if it has one.
   * @param isTaken whether the service refused it because a user has the email. An earlier create with the same password
   *   may have made that user.
   */
  settle(result: WrittenResult, isTaken: boolean): void {
    const key = keyOf(result)
    const { password, status } = this.#last.get(key) ?? {}
    if (!password || (result.status === 'skipped' && result.id === '')) return
    const isRefused = isTaken || (result.status === 'failed' && result.id === '')
    const isKept = !isRefused || (!this.#unsent.has(key) && (isTaken || status !== 'unknown'))
    const row = { ...result, password: isKept ? password : '' }
    this.#last.set(key, row)
    this.#unsent.delete(key)
    this.#settled.add(key)
    this.#log?.append(appendedResult(this.#file.path, row))
  }

  /**
   * Replaces the file. A row has its password if it was sent in this or an earlier run, and not refused.
   * @param rows the results, without passwords; with an empty one for a row that must not get one
   * @throws Failure `storage`; the file has every password that was sent, nevertheless
   */
  async finish(rows: readonly WrittenResult[]): Promise<void> {
    try {
      this.#log?.close()
      const keys = new Set(rows.map(keyOf))
      const { idOfOther } = this.#earlier
      const others = this.#lines.flatMap((line) => {
        const key = keyOf(line)
        if (!idOfOther || keys.has(key) || (this.#last.get(key) ?? line) !== line) return []
        const id = line.status === 'unknown' && line.password ? idOfOther(key) : undefined
        return id === undefined ? line : { ...line, id, status: 'created' as const, error: '' }
      })
      const all = [...others, ...rows.map((row) => this.#completed(row))]
      const isSame = all.length === this.#lines.length && all.every((row, at) => row === this.#lines[at])
      if (idOfOther && isSame && !this.#log) return
      const hasPasswords = this.#make !== undefined || this.#lines.some(({ password }) => password)
      await writeResults(this.#file.path, all, hasPasswords)
    } finally {
      this.close()
    }
  }

  close(): void {
    this.#unlock?.()
    this.#unlock = undefined
  }

  #completed(row: WrittenResult): WrittenResult {
    const key = keyOf(row)
    const { wasSent, mayHaveSent } = this.#earlier
    const last = this.#last.get(key)
    if (row.password !== undefined || !last?.password || this.#unsent.has(key)) return row
    const isSent = last.status !== 'unknown' || this.#settled.has(key) || (wasSent ?? mayHaveSent)(key)
    if (isSent) return { ...row, password: last.password }
    // A run that ended early has not told more than this line.
    return row.status === 'skipped' && row.id === '' ? { ...last, line: row.line } : row
  }

  /** In the notation of chatctl, because another program may have changed it. */
  async #begin(): Promise<LineLog> {
    await writeResults(this.#file.path, this.#lines, true)
    const failureOf = (cause: unknown) => systemFailure(`Cannot write ${this.#file.path}`, cause)
    this.#log = new LineLog({ path: this.#file.path, failureOf })
    this.#log.restore(() => {})
    return this.#log
  }
}

function keyOf({ email }: WrittenResult): string {
  return email.toLowerCase()
}
