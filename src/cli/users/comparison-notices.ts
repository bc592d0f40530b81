import { countOf } from '../../view/count.ts'
import { quoteWord } from '../command-line.ts'
import type { Context } from '../context.ts'

/**
 * Says what a comparison of users cannot see.
 *
 * @param state.name of the state file, as the user gave it
 */
export function sayWhatIsUnseen(
  { output }: Context,
  state: { name: string; exists: boolean },
  refresh: boolean,
): void {
  const { name, exists } = state
  if (!exists) {
    output.notice(
      `There is no state file ${name} yet, so every user is new that was not created from this machine. To record users who exist, run: chatctl users adopt EMAIL=ID --state ${quoteWord(name)}`,
    )
  } else if (!refresh) {
    output.notice(`Compared with ${name} alone: no user was read, so changes by others are not seen.`)
  }
}

/** @param users number of users whose email in the files has another case than in the state file */
export async function warnOfSpelling({ output }: Context, users: number, state: string): Promise<void> {
  if (users === 0) return
  await output.warn(
    `${countOf(users, 'email')} ${users === 1 ? 'has' : 'have'} another case in the files than in ${state}. An email cannot be changed, so the case is ignored.`,
  )
}
