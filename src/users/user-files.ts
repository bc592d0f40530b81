import { describeRespelled } from '../bulk/input/csv-rows.ts'
import { type Input, type InputFormat, readInput } from '../bulk/input/input.ts'
import { FaultList } from '../bulk/input/input-row.ts'
import { readRows } from '../bulk/input/read-rows.ts'
import { Failure } from '../contract/failure.ts'
import type { RunFiles } from '../run/run.ts'
import { isPlan } from '../system/files/saved-plan.ts'
import { countOf } from '../view/format/quantities.ts'
import type { WantedUser } from './managed-fields.ts'
import { type UsedValues, uniqueRows } from './rows/check-input.ts'
import { describeIgnored } from './rows/imported-user.ts'
import { userRows } from './rows/user-rows.ts'
import { usersPlan } from './users-plan-file.ts'

/** A wanted user, and its place in the files. */
export interface PlacedUser {
  user: WantedUser
  /** Of the row, which has it if a command has printed it. */
  id: string | undefined
  file: string
  line: number
}

export interface UserFilesOptions {
  /** Default: detected. */
  format: InputFormat | undefined
  /** For `${NAME}` references in values (default: references are not expanded). */
  env: NodeJS.ProcessEnv | undefined
}

/** The files that describe users. */
export class UserFiles {
  readonly #inputs: readonly Input[]
  readonly #env: UserFilesOptions['env']
  /** All users. The files must be checked. */
  readonly users: PlacedUser[] = []
  /** What the check found, and a person should know. */
  readonly warnings = new Set<string>()

  private constructor(inputs: readonly Input[], { env }: UserFilesOptions) {
    this.#inputs = inputs
    this.#env = env
  }

  /**
   * @param names of the files; `-` is stdin
   * @throws Failure `refused` for a file that cannot be read; `usage` if stdin is given twice
   */
  static async open(run: RunFiles, names: readonly string[], options: UserFilesOptions): Promise<UserFiles> {
    if (names.filter((name) => name === '-').length > 1) {
      throw new Failure('usage', 'stdin can be read only once, but - was given twice')
    }
    const inputs: Input[] = []
    for (const name of names) inputs.push(await readInput(run, name, options.format))
    return new UserFiles(inputs, options)
  }

  /** The file that is a saved plan, if there is one. @throws Failure `usage` if there are other files beside it */
  findPlan(): Input | undefined {
    const plan = this.#inputs.find(({ text }) => isPlan(text, usersPlan))
    if (plan === undefined || this.#inputs.length === 1) return plan
    throw new Failure('usage', `${plan.name} is a plan, which cannot be combined with other files`)
  }

  /** Reads and checks all files. @returns the number of users. @throws Failure `refused` with every fault */
  async check(): Promise<number> {
    const faults = new FaultList()
    let withoutEmail = 0
    const used: UsedValues = { email: new Map(), id: new Map() }
    const shape = userRows('managed users', this.#env)
    for (const input of this.#inputs) {
      const rows = readRows(input, uniqueRows(shape, `at ${input.name}:`, used))
      for await (const { index, row, line, csv, faults: found } of rows) {
        const { id, ...user } = row ?? {}
        if (user.email !== undefined)
          this.users.push({ user: user as WantedUser, id, file: input.name, line })
        else if (found.length === 0) withoutEmail++
        const respelled = csv && index === 0 ? describeRespelled(input.name, csv.columns) : undefined
        if (respelled !== undefined) this.warnings.add(respelled)
        for (const fault of found) faults.add(input.name, fault)
      }
    }
    faults.settle()
    const ignored = describeIgnored(shape.ignored)
    if (ignored !== undefined) this.warnings.add(ignored)
    if (withoutEmail > 0)
      this.warnings.add(`${countOf(withoutEmail, 'row')} without an email cannot be compared`)
    return this.users.length
  }
}
