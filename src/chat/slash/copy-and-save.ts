import { writeFile } from 'node:fs/promises'
import { resolve, win32 } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import type { Terminal } from '../../terminal/screen/screen.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { expandHome, type FileLocation } from '../attachments.ts'

interface ClipboardProgram {
  command: readonly [program: string, ...words: string[]]
  /** What the program reads from stdin (default: UTF-8). */
  encode?(text: string): string | Buffer
}

/** Reads base64, because PowerShell decodes stdin with the code page of the console. */
const setClipboard =
  'Set-Clipboard ([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String([Console]::In.ReadToEnd())))'

/** Programs that copy stdin to the clipboard of this environment. */
export function clipboardPrograms(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): ClipboardProgram[] {
  // Over ssh, these would use the clipboard of the remote machine.
  if (env['SSH_CONNECTION']) return []
  if (platform === 'darwin') return [{ command: ['pbcopy'] }]
  if (platform === 'win32') {
    const system = win32.join(env['SystemRoot'] ?? 'C:\\Windows', 'System32')
    const powerShell = win32.join(system, 'WindowsPowerShell', 'v1.0', 'powershell.exe')
    return [
      {
        command: [powerShell, '-NoProfile', '-NonInteractive', '-Command', setClipboard],
        encode: (text) => Buffer.from(text).toString('base64'),
      },
    ]
  }
  return [
    ...(env['WAYLAND_DISPLAY'] ? [{ command: ['wl-copy'] as const }] : []),
    ...(env['DISPLAY']
      ? [{ command: ['xclip', '-selection', 'clipboard'] as const }, { command: ['xsel', '-ib'] as const }]
      : []),
  ]
}

/** Maximum length, in base64 characters, of an OSC 52 sequence that common terminals accept. */
const maxEncodedLength = 100_000

/**
 * Copies text to the clipboard, without control characters that could steer a terminal into which it
 * is pasted. Uses a program of the system, else an OSC 52 sequence, which also works over ssh if the
 * terminal allows it.
 * @param env the environment of `terminal`
 * @returns a sentence for the user
 */
export async function copyText(
  text: string,
  {
    terminal,
    env,
    platform,
  }: { terminal: Pick<Terminal, 'write'>; env: NodeJS.ProcessEnv; platform: NodeJS.Platform },
): Promise<string> {
  const clean = stripControls(text)
  for (const program of clipboardPrograms(env, platform)) {
    if (await feed(program, clean, env)) return `Copied with ${win32.basename(program.command[0])}.`
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

async function feed(
  { command: [program, ...words], encode }: ClipboardProgram,
  text: string,
  env: NodeJS.ProcessEnv,
): Promise<boolean> {
  const { spawn } = await import('node:child_process')
  const child = spawn(program, words, { stdio: ['pipe', 'ignore', 'ignore'], env, windowsHide: true })
  return new Promise((resolve) => {
    child.once('error', () => resolve(false))
    // xclip and wl-copy keep a background process that serves the clipboard; the one started here exits.
    child.once('exit', (status) => resolve(status === 0))
    child.stdin.on('error', () => {})
    child.stdin.end(encode?.(text) ?? text)
  })
}

/**
 * Writes a new file. `~/` in the path is the home directory.
 * @returns its absolute path
 * @throws Failure `refused` if the file exists, `storage` if it cannot be written, `usage` without a name
 */
export async function saveText(path: string, text: string, place: FileLocation): Promise<string> {
  if (path === '') throw new Failure('usage', 'Missing file name', { hint: 'For example: /save reply.md' })
  const file = resolve(place.cwd ?? '', expandHome(path, place))
  try {
    await writeFile(file, text, { flag: 'wx', mode: 0o600 })
    return file
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new Failure('refused', `${file} already exists`, { hint: 'Choose another file name.', cause })
    }
    throw systemFailure(`Cannot write ${file}`, cause)
  }
}
