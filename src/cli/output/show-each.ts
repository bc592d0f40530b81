import type { ApiResponse } from '../../client/response.ts'
import { Failure } from '../../contract/failure.ts'
import type { Fault } from '../../contract/faults.ts'
import type { View } from '../../view/view.ts'
import { describeFaults } from '../describe-faults.ts'
import { unlessInterrupted } from '../interruption.ts'
import type { BulkProgress } from './bulk-progress.ts'
import type { Output } from './output.ts'
import { RowFailures } from './row-failures.ts'

type Result = { id: string } & ({ response: ApiResponse<unknown> } | { failure: Failure })

/** More would be a description of the interface that the service has instead. */
const mostFaults = 100

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
        const { body, faults: some } = result.response
        for (const fault of some) {
          if (faults.size < mostFaults) faults.set(`${fault.path} ${fault.message}`, fault)
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
