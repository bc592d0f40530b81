import { Failure } from '../../contract/failure.ts'
import type { Terminal } from '../../terminal/screen/terminal.ts'
import { stripControls } from '../../terminal/strip-controls.ts'

/** The programs that put stdin on the clipboard, and where they are of use. */
function clipboardPrograms(env: NodeJS.ProcessEnv): [string, ...string[]][] {
  // Over ssh these would fill the clipboard of the wrong machine.
  if (env['SSH_CONNECTION']) return []
  if (process.platform === 'darwin') return [['pbcopy']]
  // By its whole path: Windows looks for a bare name in the directory one stands in first.
  if (process.platform === 'win32') return [[`${env['SystemRoot'] ?? 'C:\\Windows'}\\System32\\clip.exe`]]
  return [
    ...(env['WAYLAND_DISPLAY'] ? [['wl-copy'] as [string]] : []),
    ...(env['DISPLAY']
      ? ([
          ['xclip', '-selection', 'clipboard'],
          ['xsel', '-ib'],
        ] as [string, ...string[]][])
      : []),
  ]
}

/** Terminals refuse longer ones; base64 takes four characters for three bytes. */
const longestSequence = 100_000

/**
 * Puts a text on the clipboard, without what could steer the terminal into which it is pasted: through
 * the system's program, else through the terminal (OSC 52), which also works over ssh, where the
 * terminal allows it.
 *
 * @param terminal on which the person sits, whose environment is `env`
 * @returns what was done, for a person
 */
export async function copyText(
  text: string,
  { terminal, env }: { terminal: Pick<Terminal, 'write'>; env: NodeJS.ProcessEnv },
): Promise<string> {
  const clean = stripControls(text)
  for (const [program, ...args] of clipboardPrograms(env)) {
    if (await feed(program, args, clean, env)) return `Copied with ${program}.`
  }
  const encoded = Buffer.from(clean).toString('base64')
  if (encoded.length > longestSequence) {
    throw new Failure('refused', 'The reply is too long for the terminal clipboard', {
      hint: 'Save it to a file with: /save FILE',
    })
  }
  terminal.write(`\u001b]52;c;${encoded}\u0007`)
  return 'Sent to the terminal (OSC 52). It is on the clipboard if your terminal allows it.'
}

async function feed(program: string, args: string[], text: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const { spawn } = await import('node:child_process')
  const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'ignore'], env })
  return new Promise((resolve) => {
    child.once('error', () => resolve(false))
    // xclip and wl-copy stay to serve what they hold: they have it once they let go of stdin.
    child.once('exit', (status) => resolve(status === 0))
    child.stdin.on('error', () => {})
    child.stdin.end(text)
  })
}
