import { spawnSync } from 'node:child_process'

/** How a command meets the person or program that called it. */
export const forms = ['terminal', 'pipe', 'JSON'] as const
export type Form = (typeof forms)[number]

/** A form in the words of a title. */
export const inWords: Record<Form, string> = {
  terminal: 'on a terminal',
  pipe: 'in a pipe',
  JSON: 'JSON',
}

/** Whether script(1) of util-linux is there, which makes terminals. */
export const canMakeTerminals =
  process.platform === 'linux' && spawnSync('script', ['--version'], { stdio: 'ignore' }).status === 0

/** To be put behind the number of cells: what is not tried is said. */
export const leftOut = canMakeTerminals ? '' : '; none on a terminal: script(1) of util-linux is missing'

/** Those that this machine can show. */
export const formsHere: readonly Form[] = canMakeTerminals ? forms : ['pipe', 'JSON']
