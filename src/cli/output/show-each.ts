import type { ApiResponse } from '../../client/response.ts'
import { Failure, helpOf } from '../../contract/failure.ts'
import type { Fault } from '../../contract/faults.ts'
import { countOf, groupDigits } from '../../view/count.ts'
import type { View } from '../../view/view.ts'
import { unlessInterrupted } from '../interruption.ts'
import { describeFaults } from '../response-warnings.ts'
import type { BulkProgress } from './bulk-progress.ts'
import type { Output } from './output.ts'

type Result = { id: string } & ({ answer: ApiResponse<unknown> } | { failure: Failure })

/** More would be a description of the interface that the service has instead. */
const maxFaults = 100

/**
 * Shows the bodies of many answers: a row as soon as it is there where the form allows it, else one
 * list. What fails is said and left out; what had come before the end of it all is shown.
 *
 * @throws Failure where any failed, or none was asked for
 */
export async function showEach(
  view: View,
  results: AsyncIterable<Result>,
  { output, progress }: { output: Output; progress: BulkProgress },
): Promise<void> {
  const writer = output.rowWriter(view)
  const bodies: unknown[] = []
  const failures = new RowFailures(output)
  const faults = new Map<string, Fault>()
  const showRest = async (): Promise<void> => {
    progress.end()
    if (faults.size > 0) await output.warn(describeFaults([...faults.values()]))
    faults.clear()
    const whole = bodies.splice(0)
    if (whole.length > 0) await output.show(view, whole)
  }
  try {
    for await (const result of results) {
      if ('failure' in result) await failures.add(result.id, result.failure)
      else {
        await failures.took()
        const { body, faults: some } = result.answer
        for (const fault of some) {
          if (faults.size < maxFaults) faults.set(`${fault.path} ${fault.message}`, fault)
        }
        if (writer) await unlessInterrupted(writer.write(body), output.streams.signal)
        else bodies.push(body)
      }
      progress.update({ done: failures.rows - failures.failed, failed: failures.failed, unknown: 0 })
    }
    writer?.end()
    await showRest()
  } catch (error) {
    progress.end()
    await failures.say()
    // Whoever interrupts wants nothing more; and what ended it all is what is to be said.
    if (error instanceof Failure) await showRest().catch(() => {})
    throw error
  }
  if (failures.rows === 0)
    throw new Failure('usage', 'No id given', { hint: 'For example: chatctl users get usr_1' })
  failures.end()
}

/** What went wrong with some of many, said as it happens, and what that means in the end. */
class RowFailures {
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
