import type { FailureKind } from '../../contract/failure.ts'

/** docs/exit-codes.md documents this table. */
const exitCodes: Record<FailureKind, number> = {
  rejected: 1,
  invalid_response: 1,
  storage: 1,
  usage: 2,
  refused: 2,
  config: 2,
  input_needed: 3,
  declined: 3,
  unauthorized: 4,
  forbidden: 5,
  not_found: 6,
  conflict: 7,
  not_whole: 8,
  incomplete: 9,
  unreachable: 69,
  timeout: 69,
  tls: 69,
  server_error: 69,
  truncated: 69,
  unknown_outcome: 69,
  rate_limited: 75,
  program_not_executable: 126,
  program_not_found: 127,
}

export const bugExitCode = 1

/** Not a failure: the result of `--exit-code`. */
export const differenceExitCode = 10

export function exitCodeOf(kind: FailureKind): number {
  return exitCodes[kind]
}
