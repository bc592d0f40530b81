import type { ActivityRun } from '../../activity/activity-line.ts'
import type { ChangeRequest } from '../../activity/change.ts'
import type { ChangeRecorder } from '../../activity/change-recorder.ts'
import { endpoints } from '../../contract/endpoints.ts'
import type { RequestOutcome } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import type { Directories } from '../../system/files/directories.ts'
import { once } from '../../system/once.ts'
import type { Output } from '../output/output.ts'

interface RecordingOptions {
  load(): Promise<typeof ChangeRecorder>
  run(): ActivityRun
  directories: Directories
  clock: Clock
  output: Output
}

/** The record of the changes that a run sends. It is loaded for the first of them. */
export class ChangeRecording {
  readonly #open: () => Promise<ChangeRecorder>
  #opened: Promise<ChangeRecorder> | undefined
  #warning: Promise<void> | undefined

  constructor({ load, run, directories, clock, output }: RecordingOptions) {
    this.#open = once(async () => {
      const Recorder = await load()
      // A read-only home directory must not prevent the change.
      const onFailure = (error: unknown): void => {
        const why = describeSystemError(error)
        this.#warning = output.warn(`This run cannot record its changes for "chatctl activity": ${why}`)
      }
      return new Recorder({ directories, clock, endpoints, run: run(), onFailure })
    })
  }

  /** Resolves when the change is recorded. */
  async begin(request: ChangeRequest): Promise<(outcome: RequestOutcome) => void> {
    this.#opened = this.#open()
    return (await this.#opened).begin(request)
  }

  async close(): Promise<void> {
    ;(await this.#opened)?.close()
    await this.#warning
  }
}
