import type { Session } from '../session.ts'

type Candidates = readonly string[] | ReadonlyMap<string, string>

/** A command of the session, typed as `/name`. */
export interface SlashCommand {
  name: string
  /** Another name, known from other programs. */
  alias?: string
  /** As the help shows it. Undefined if the command takes no argument. */
  argument?: string
  summary: string
  /** @throws Failure, which the session shows before it continues */
  run(session: Session, argument: string): void | Promise<void>
  /** Completions of the argument. A map has what each is, which also finds it. */
  candidates?(session: Session, typed: string): Candidates | Promise<Candidates>
  /** Whether the argument is a path. */
  takesPath?: boolean
}
