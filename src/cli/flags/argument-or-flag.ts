import { Failure } from '../../contract/failure.ts'

/** A value that may be given as an argument or with a flag. @throws Failure `usage` if both are given */
export function argumentOrFlag<N extends string>(
  given: string | undefined,
  flags: Readonly<Record<N, string | undefined>>,
  name: N,
): string | undefined {
  if (given === undefined || flags[name] === undefined) return given ?? flags[name]
  throw new Failure('usage', `--${name} and an argument cannot be used together`)
}
