import type { Advice } from '../contract/advice.ts'
import { Failure } from '../contract/failure.ts'
import type { Directories } from '../system/files/directories.ts'
import { countOf } from '../view/format/count.ts'
import { describeRespelled } from './input/csv-columns.ts'
import { FaultList } from './input/fault-list.ts'
import { type Input, type InputOptions, openInput } from './input/input.ts'
import type { InputFormat } from './input/input-format.ts'
import { readRows } from './input/read-rows.ts'
import { UniqueValues } from './input/unique-values.ts'
import { importsDirectory } from './journal/open-journal.ts'
import type { WantedUser } from './managed-fields.ts'
import type { ExtraCheck } from './rows/check-row.ts'
import type { ImportedUser } from './rows/imported-user.ts'
import { isUsersPlan } from './users-plan-file.ts'

/** A wanted user, and its place in the files. */
export interface PlacedUser {
  user: WantedUser
  file: string
  line: number
}

export interface UserFilesOptions extends Omit<InputOptions, 'format' | 'spoolDirectory'> {
  directories: Directories
  /** Of all files (default: detected for each). */
  format: InputFormat | undefined
  /** For `${NAME}` references in values (default: references are not expanded). */
  env: NodeJS.ProcessEnv | undefined
}

/** In bytes: enough for 60,000 emails. */
const cacheSize = 4 * 1024 * 1024

/** The files that describe users. Their rows are streamed, so memory does not grow with the number of users. */
export class UserFiles {
  readonly #inputs: readonly Input[]
  readonly #options: UserFilesOptions
  readonly #warnings = new Set<string>()

  private constructor(inputs: readonly Input[], options: UserFilesOptions) {
    this.#inputs = inputs
    this.#options = options
  }

  /**
   * @param names of the files; `-` is stdin
   * @throws Failure `refused` for a file that cannot be read; `usage` if stdin is given twice
   */
  static async open(names: readonly string[], options: UserFilesOptions): Promise<UserFiles> {
    if (names.filter((name) => name === '-').length > 1) {
      throw new Failure('usage', 'stdin can be read only once, but - was given twice')
    }
    const inputs: Input[] = []
    // Reading `stdin` opens it, so the options are not copied.
    const inputOptions = Object.assign(Object.create(options), {
      spoolDirectory: importsDirectory(options.directories),
    })
    try {
      for (const name of names) inputs.push(await openInput(name, inputOptions))
    } catch (error) {
      for (const input of inputs) input.close()
      throw error
    }
    return new UserFiles(inputs, options)
  }

  /** The file that is a saved plan, if there is one. @throws Failure `usage` if there are other files beside it */
  async findPlan(): Promise<Input | undefined> {
    for (const input of this.#inputs) {
      if (!(await isPlan(input))) continue
      if (this.#inputs.length === 1) return input
      throw new Failure('usage', `${input.name} is a plan, which cannot be combined with other files`)
    }
    return undefined
  }

  /**
   * Reads and checks all files.
   *
   * @returns the number of users
   * @throws Failure `refused` with every fault
   */
  async check(): Promise<number> {
    const faults = new FaultList()
    const emails = new UniqueValues(cacheSize)
    let users = 0
    try {
      for (const [index, input] of this.#inputs.entries()) {
        for await (const batch of this.#rows(input, this.#findDuplicates(emails, index))) {
          users += batch.length
          const respelled = batch[0]?.csv?.columns.respelled ?? []
          if (respelled.length > 0) this.#warnings.add(describeRespelled(input.name, respelled))
          for (const row of batch) for (const fault of row.faults) faults.add(input.name, fault)
        }
      }
    } finally {
      emails.close()
    }
    if (faults.count > 0) throw faultsFailure(faults)
    return users
  }

  /** What the check found, and a person should know. */
  get warnings(): Iterable<string> {
    return this.#warnings
  }

  /** All users, in batches of any size. The files must be checked. @throws Failure `conflict` if a file was changed */
  async *users(): AsyncGenerator<readonly PlacedUser[]> {
    for (const input of this.#inputs) {
      for await (const batch of this.#rows(input)) {
        yield batch.map(({ row, line }) => ({ user: row as WantedUser, file: input.name, line }))
      }
    }
  }

  close(): void {
    for (const input of this.#inputs) input.close()
  }

  #rows(input: Input, extraCheck?: ExtraCheck) {
    const { signal, env } = this.#options
    async function* read(): AsyncGenerator<Uint8Array> {
      for await (const chunk of input.read()) {
        signal.throwIfAborted()
        yield chunk
      }
    }
    return readRows({ ...input, read }, 'managed users', { extraCheck, env })
  }

  /** An email may be in one row of one file. The place of a claim is a number: the line, and the index of the file. */
  #findDuplicates(emails: UniqueValues, index: number): ExtraCheck {
    const files = this.#inputs
    return ({ email }: ImportedUser, { line }, report) => {
      if (email === undefined) return
      const [taken] = emails.findTaken({ email })
      if (!taken) return emails.claim({ email }, line * files.length + index)
      const first = Math.floor(taken.line / files.length)
      report(['email'], `${email} is already used at ${files[taken.line % files.length]?.name}:${first}`)
    }
  }
}

async function isPlan(input: Input): Promise<boolean> {
  for await (const chunk of input.read()) return isUsersPlan(Buffer.from(chunk).toString())
  return false
}

function faultsFailure(faults: FaultList): Failure {
  const advice = new Map<Advice['code'], Advice>()
  for (const fault of faults.shown) if (fault.advice) advice.set(fault.advice.code, fault.advice)
  const words =
    faults.count === 1
      ? faults.describe()
      : `${countOf(faults.count, 'error')}; nothing was sent:\n${faults.describe()}`
  return new Failure('refused', words, {
    advice: [...advice.values()],
    details: {
      faults: faults.shown.map(({ file, line, column, message }) => ({ file, line, column, message })),
      count: faults.count,
    },
  })
}
