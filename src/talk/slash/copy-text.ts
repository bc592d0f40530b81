import { Failure } from '../../contract/failure.ts'
import type { Terminal } from '../../terminal/screen/terminal.ts'
import { stripControls } from '../../terminal/strip-controls.ts'

/** Programs that copy stdin to the clipboard of this environment. */
function clipboardPrograms(env: NodeJS.ProcessEnv): [string, ...string[]][] {
  // Over ssh, these would use the clipboard of the remote machine.
  if (env['SSH_CONNECTION']) return []
  if (process.platform === 'darwin') return [['pbcopy']]
  // With its full path: Windows looks for a bare name in the working directory first.
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

/** Maximum length, in base64 characters, of an OSC 52 sequence that common terminals accept. */
const maxEncodedLength = 100_000

/**
 * Copies text to the clipboard, without control characters that could steer a terminal into which it
 * is pasted. Uses a program of the system, else an OSC 52 sequence, which also works over ssh if the
 * terminal allows it.
 *
 * @param env the environment of `terminal`
 * @returns a sentence for the person
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
  if (encoded.length > maxEncodedLength) {
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
    // xclip and wl-copy keep a background process that serves the clipboard; the one started here exits.
    child.once('exit', (status) => resolve(status === 0))
    child.stdin.on('error', () => {})
    child.stdin.end(text)
  })
}
