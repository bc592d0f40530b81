import type { CutAnswer } from '../answer/recover-answer.ts'
import type { Conversation } from '../conversation.ts'
import type { TranscriptWriter } from '../transcript/transcript-writer.ts'

/** What a session goes on with from here, and what there is to show of it. */
export interface Begun {
  conversation: Conversation
  writer: TranscriptWriter
  /** Turns that the transcript has already. */
  turns: number
  /** The last answer, where it did not come whole. */
  cutAnswer?: CutAnswer | undefined
  /** The last question, where no answer came at all. */
  unsent?: string | undefined
  show(): void
}
