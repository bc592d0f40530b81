import { spawnSync } from 'node:child_process'

/** How a command is run: in a terminal, in a pipe, or in a pipe with JSON output. */
export const forms = ['terminal', 'pipe', 'JSON'] as const
export type Form = (typeof forms)[number]

/** The name of each form in a test title. */
export const inWords: Record<Form, string> = {
  terminal: 'in a terminal',
  pipe: 'in a pipe',
  JSON: 'with JSON output',
}

/** Whether script(1) of util-linux, which creates terminals, is installed. */
const canMakeTerminals =
  process.platform === 'linux' && spawnSync('script', ['--version'], { stdio: 'ignore' }).status === 0

/** Text to append to the number of cells. It names what is not tested. */
export const leftOut = canMakeTerminals ? '' : '; none in a terminal: script(1) of util-linux is missing'

/** The forms that this machine can test. */
export const formsHere: readonly Form[] = canMakeTerminals ? forms : ['pipe', 'JSON']
