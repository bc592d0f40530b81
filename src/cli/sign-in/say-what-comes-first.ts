import type { Context } from '../create-context.ts'

/** Whoever signs in or out with a key in the environment would look for the fault elsewhere. */
export function sayWhatComesFirst({ env, output }: Context): void {
  const variable = ['CHATCTL_API_KEY', 'CHATCTL_API_KEY_FILE'].find((name) => env[name])
  if (variable) output.notice(`${variable} is set, and goes on being used: it comes before any sign-in.`)
}
