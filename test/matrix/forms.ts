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

/** Those that this machine can show; without script(1) there are no terminals. */
export const formsHere: readonly Form[] = canMakeTerminals ? forms : ['pipe', 'JSON']
