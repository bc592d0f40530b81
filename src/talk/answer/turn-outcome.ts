import type { Usage } from '../../contract/completion.ts'
import type { Failure } from '../../contract/failure.ts'
import type { StreamEnd } from '../../contract/stream-event.ts'

/** How a turn went. Times are milliseconds from sending; undefined where nothing came. */
export interface TurnOutcome {
  /** Undefined where no answer ended: it was stopped, or never began. */
  end: StreamEnd | undefined
  /** Why there is no answer at all. */
  failure: Failure | undefined
  usage: Usage | undefined
  firstMs: number | undefined
  totalMs: number
}
