import { statSync } from 'node:fs'
import { readResultRows } from '../../bulk/results/password-reader.ts'
import { lockResults, ResultsWriter, type WrittenResult } from '../../bulk/results/results-file.ts'
import type { RowStatus } from '../../bulk/results/row-result.ts'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import type { PlannedUser } from './planned-user.ts'
import type { OutcomeStatus, UserOutcome } from './user-outcome.ts'

const columns: readonly string[] = ['line', 'email', 'id', 'status', 'error', 'password']

/** Rows that are written at once. */
const batchSize = 1000

/**
 * The generated passwords of new users, in a results file with the columns of `users import --results`. The file
 * keeps the rows of earlier runs, so no password is lost, and a user whose create is sent again gets the same
 * password.
 */
export class NewPasswords {
  readonly #path: string
  readonly #makePassword: () => string
  /** The rows of the users to create, by email without case. */
  readonly #rows = new Map<string, WrittenResult & { password: string }>()
  #unlock: (() => void) | undefined

  /** @throws Failure `usage` for another file extension; `storage` if the file is known to be not writable */
  constructor(path: string, makePassword: () => string) {
    this.#path = path
    this.#makePassword = makePassword
    new ResultsWriter(path, true)
    const found = statSync(path, { throwIfNoEntry: false })
    if (found && !found.isFile()) {
      throw new Failure('usage', `Cannot write the generated passwords to ${path}: not a regular file`)
    }
  }

  /**
   * Writes a password for each user to create. The file is on disk when the promise resolves, and locked until
   * `finish`.
   *
   * @throws Failure `refused` if the file exists and is not a results file; `conflict` if another process is
   *   writing it; `storage`
   */
  async prepare(planned: Iterable<PlannedUser>): Promise<void> {
    const unlock = lockResults(this.#path)
    try {
      await this.#prepare(planned)
      this.#unlock = unlock
    } catch (error) {
      unlock()
      throw error
    }
  }

  async #prepare(planned: Iterable<PlannedUser>): Promise<void> {
    for (const { difference } of planned) {
      const { email, line = '' } = difference
      const row = { line, email, id: '', status: 'skipped' as const, error: 'not sent yet' }
      this.#rows.set(email.toLowerCase(), { ...row, password: '' })
    }
    for await (const { email, password } of this.#readOld()) {
      const row = this.#rows.get(email.toLowerCase())
      if (row && password) row.password = password
    }
    for (const row of this.#rows.values()) row.password ||= this.#makePassword()
    await this.#write()
  }

  of(email: string): string | undefined {
    return this.#rows.get(email.toLowerCase())?.password
  }

  settle({ email, id = '', status, isCreated, failure }: UserOutcome): void {
    const row = this.#rows.get(email.toLowerCase())
    if (!row) return
    const isKnown = isCreated && id !== ''
    Object.assign(row, { id, status: isKnown ? 'created' : statusOf(status), error: failure?.message ?? '' })
  }

  /** Writes the outcomes of the users, if passwords were prepared. */
  async finish(): Promise<void> {
    try {
      if (this.#unlock) await this.#write()
    } finally {
      this.#unlock?.()
    }
  }

  /** Replaces the file: the rows of other users unchanged, and then those of the users to create. */
  async #write(): Promise<void> {
    const writer = new ResultsWriter(this.#path, true)
    let batch: WrittenResult[] = []
    const add = async (row: WrittenResult) => {
      batch.push(row)
      if (batch.length < batchSize) return
      await writer.write(batch)
      batch = []
    }
    try {
      for await (const row of this.#readOld()) if (!this.#rows.has(row.email.toLowerCase())) await add(row)
      for (const row of this.#rows.values()) await add(row)
      await writer.write(batch)
      await writer.finish()
    } catch (error) {
      await writer.discard()
      throw error
    }
  }

  async *#readOld(): AsyncGenerator<WrittenResult> {
    const path = this.#path
    if (!statSync(path, { throwIfNoEntry: false })) return
    try {
      for await (const row of readResultRows(path)) {
        const { line, email, id, status, error, password } = row
        const isOwn = email !== undefined && status !== undefined
        if (!isOwn || Object.keys(row).some((name) => !columns.includes(name))) throw notResults(path)
        const text = (value: unknown) => (typeof value === 'string' ? value : '')
        yield {
          line: typeof line === 'number' ? line : text(line),
          email: text(email),
          id: text(id),
          status: text(status) as RowStatus,
          error: text(error),
          password: text(password),
        }
      }
    } catch (cause) {
      if (cause instanceof Failure) throw cause
      throw new Failure('storage', `Cannot read ${path}: ${describeSystemError(cause)}`, { cause })
    }
  }
}

function notResults(path: string): Failure {
  return new Failure('refused', `${path} exists and is not a results file, so it is not overwritten`, {
    advice: [{ code: 'other_results_file' }],
  })
}

/** The status of a user who was not created, or whose ID is not known. */
function statusOf(status: OutcomeStatus): RowStatus {
  switch (status) {
    case 'unknown':
    case 'nameless':
      return 'unknown'
    case 'failed':
      return 'failed'
    default:
      return 'skipped'
  }
}
