import type { Session } from '../session.ts'

/** What a line that begins with `/` may ask for. */
export interface SlashCommand {
  name: string
  /** What other programs call it. */
  alias?: string
  /** As the help shows it; absent where the command takes none. */
  argument?: string
  summary: string
  /** @throws Failure, which is shown; the session goes on */
  run(session: Session, argument: string): void | Promise<void>
  /** What the argument may be. */
  candidates?(session: Session): readonly string[] | Promise<readonly string[]>
  /** Whether the argument is a path. */
  takesPath?: boolean
}
