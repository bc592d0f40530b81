import { Failure } from '../contract/failure.ts'
import type { Run } from './run.ts'

/** What belongs to a user. Undefined and null for unknown. */
interface Owned {
  /** For the beginning of a sentence: `The mirror PATH`. */
  subject: string
  owner: string | null | undefined
  user: string | undefined
  /** What continuing means, as a question. */
  question: string
  hint: string
}

/**
 * Refuses what belongs to another user than that of the run, as far as both are known. In a terminal, asks.
 * @returns false if it belongs to another user, and the user agreed
 * @throws Failure `conflict` in a non-interactive run; `declined` for no
 */
export async function demandUser(
  { confirm }: Pick<Run, 'confirm'>,
  { subject, owner, user, question, hint }: Owned,
): Promise<boolean> {
  if (owner == null || user === undefined || owner === user) return true
  const words = `${subject} is of the user ${owner}, but the service says that you are the user ${user}`
  await confirm(`${words}. ${question}`, new Failure('conflict', words, { code: 'user_mismatch', hint }))
  return false
}
