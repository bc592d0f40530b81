import { rememberLastContext } from '../config/last-context.ts'
import { Failure } from '../contract/failure.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import { quoteWord } from './command-line.ts'
import type { Context } from './context/context.ts'

/** The failure of `--continue` if this profile has no conversation yet. */
export function noConversation(): Failure {
  return new Failure('usage', 'This profile has no conversation to continue', {
    hint: 'Omit --continue to start one, or name a conversation with --context ID.',
  })
}

/** Stores the conversation for `--continue`. The reply has been shown, so a failure is only a warning. */
export async function rememberContext(context: Context, contextId: string | null | undefined): Promise<void> {
  if (!contextId) return
  try {
    await rememberLastContext(context.directories, context.contextOwner(), contextId)
  } catch (error) {
    await context.output.warn(
      `Cannot remember this conversation for --continue: ${describeSystemError(error)}. Continue it with: --context ${quoteWord(contextId)}`,
    )
  }
}
