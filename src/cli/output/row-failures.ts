import { Failure, helpOf } from '../../contract/failure.ts'
import { countOf, groupDigits } from '../../view/count.ts'
import type { Output } from './output.ts'

/** What went wrong with some of many, said as it happens, and what that means in the end. */
export class RowFailures {
  readonly #output: Output
  #rows = 0
  #failed = 0
  #first: Failure | undefined
  #isOneKind = true
  /** The first of all is not said before there is another: alone it is how the command fails. */
  #unsaid: string | undefined

  constructor(output: Output) {
    this.#output = output
  }

  get failed(): number {
    return this.#failed
  }

  get rows(): number {
    return this.#rows
  }

  async took(): Promise<void> {
    this.#rows++
    await this.say()
  }

  async add(name: string, failure: Failure): Promise<void> {
    await this.say()
    this.#rows++
    this.#failed++
    this.#first ??= failure
    if (failure.kind !== this.#first.kind) this.#isOneKind = false
    this.#unsaid = `Cannot read user ${name}: ${failure.message}`
    if (this.#rows > 1) await this.say()
  }

  /** Says what was held back. */
  async say(): Promise<void> {
    const text = this.#unsaid
    this.#unsaid = undefined
    if (text !== undefined) await this.#output.warn(text)
  }

  /** @throws Failure where there were any: of their own kind when all of them failed for it */
  end(): void {
    const first = this.#first
    if (!first) return
    if (this.#rows === 1) {
      this.#unsaid = undefined
      throw first
    }
    if (this.#failed === this.#rows && this.#isOneKind) {
      throw new Failure(first.kind, `None of the ${countOf(this.#rows, 'user')} could be read`, {
        code: first.code,
        ...helpOf(first),
        ...(first.status === undefined ? {} : { status: first.status }),
      })
    }
    throw new Failure(
      'incomplete',
      `${groupDigits(this.#failed)} of ${countOf(this.#rows, 'user')} could not be read`,
    )
  }
}
