import type { ApiResponse } from '../../client/response/response.ts'
import { Failure } from '../../contract/failure.ts'
import type { Fault } from '../../contract/faults.ts'
import type { Progress } from '../../run/run.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import { countOf, groupDigits } from '../../view/format/quantities.ts'
import type { View } from '../../view/format/view.ts'
import type { Output } from './output.ts'
import { excerptOf, isUndocumented } from './show-response.ts'
import { describeFaults } from './warn-of-response.ts'

/** `id` names the user in errors. */
export type ShownResult = { id: string } & ({ response: ApiResponse<unknown> } | { failure: Failure })

/** The words of errors about single users, about all of them, and about none. */
interface EachWords {
  cannot: string
  done: string
  none: string
  example: string
}

const reading: EachWords = {
  cannot: 'Cannot read user',
  done: 'read',
  none: 'No id given',
  example: 'chatctl users get usr_1',
}

/** Maximum number of faults to remember. */
const maxFaults = 100

/**
 * Shows the bodies of many responses: row by row if the output format allows it, otherwise as one list.
 * Failures are reported, and the other bodies are shown.
 * @throws Failure if any request failed, or no ID was given
 */
export async function showEach(
  view: View,
  results: AsyncIterable<ShownResult>,
  { output, progress, words = reading }: { output: Output; progress: Progress; words?: EachWords },
): Promise<void> {
  const writer = output.rowWriter(view)
  const bodies: unknown[] = []
  const failures = new RowFailures(output, words)
  const faults = new Map<string, Fault>()
  /** Responses without any documented field. */
  const bare = { count: 0, first: '' }
  const showRest = async (): Promise<void> => {
    progress.end()
    if (faults.size > 0) await output.warn(describeFaults([...faults.values()]))
    if (bare.count > 0) {
      const what = bare.count === 1 ? 'response has' : 'responses have'
      await output.warn(
        `${groupDigits(bare.count)} ${what} none of the documented fields, such as ${bare.first}`,
      )
    }
    if (bodies.length > 0) await output.show(view, bodies)
  }
  try {
    for await (const result of results) {
      if ('failure' in result) await failures.add(result.id, result.failure)
      else {
        await failures.took()
        const { body, faults: some } = result.response
        for (const fault of some) {
          if (faults.size < maxFaults) faults.set(`${fault.path} ${fault.message}`, fault)
        }
        const isBare = isUndocumented(view, body)
        if (isBare && bare.count++ === 0) bare.first = `${result.id}: ${excerptOf(body)}`
        const row = isBare && !output.isDocument ? { id: result.id } : body
        if (writer) await unlessAborted(writer.write([row]), output.streams.signal)
        else bodies.push(row)
      }
      progress.update({ done: failures.rows - failures.failed, failed: failures.failed, unknown: 0 })
    }
    await writer?.end()
  } catch (error) {
    progress.end()
    await failures.say()
    // After an interruption nothing more is shown. Only the first error is reported.
    if (error instanceof Failure) await showRest().catch(() => {})
    throw error
  }
  await showRest()
  if (failures.rows === 0) throw new Failure('usage', words.none, { hint: `For example: ${words.example}` })
  failures.end()
}

/** Failures of single rows: a warning for each, and the failure of the command at the end. */
class RowFailures {
  readonly #output: Output
  readonly #words: EachWords
  rows = 0
  failed = 0
  #first: Failure | undefined
  #isOneKind = true
  /** A failure of the only row is the failure of the command, so the first one is held until there is another row. */
  #unsaid: string | undefined

  constructor(output: Output, words: EachWords) {
    this.#output = output
    this.#words = words
  }

  async took(): Promise<void> {
    this.rows++
    await this.say()
  }

  async add(name: string, failure: Failure): Promise<void> {
    await this.took()
    this.failed++
    this.#first ??= failure
    if (failure.kind !== this.#first.kind) this.#isOneKind = false
    this.#unsaid = `${this.#words.cannot} ${name}: ${failure.message}`
    if (this.rows > 1) await this.say()
  }

  /** Writes the failure that was held. */
  async say(): Promise<void> {
    const text = this.#unsaid
    this.#unsaid = undefined
    if (text !== undefined) await this.#output.warn(text)
  }

  /** @throws Failure if any row failed; if all failed in the same way, of that kind */
  end(): void {
    const first = this.#first
    if (!first) return
    if (this.rows === 1) throw first
    const users = countOf(this.rows, 'user')
    if (this.failed < this.rows || !this.#isOneKind) {
      const failed = groupDigits(this.failed)
      throw new Failure('incomplete', `${failed} of ${users} could not be ${this.#words.done}`)
    }
    const { kind, code, hint, advice, status } = first
    throw new Failure(kind, `None of the ${users} could be ${this.#words.done}`, {
      code,
      hint,
      advice,
      status,
    })
  }
}
