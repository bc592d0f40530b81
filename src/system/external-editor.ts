import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../contract/failure.ts'
import { systemFailure } from './describe-system-error.ts'

interface OutsideEditing {
  /** Editors detect the language from the file extension. */
  fileName: string
  /** A shell command, such as `code --wait` (default: vi, or notepad on Windows). */
  command?: string | undefined
  platform: NodeJS.Platform
  /** Environment of the editor. */
  env: NodeJS.ProcessEnv
  cwd: string | undefined
  /** Directory of the file. */
  temporary: string
}

/**
 * Edits a text with another program in the same terminal.
 * @returns the edited text
 * @throws Failure `refused` if the editor fails or saves a file that is not UTF-8 text, which is kept;
 *   `storage` if the file cannot be written or read
 */
export async function editOutside(text: string, editing: OutsideEditing): Promise<string> {
  try {
    const directory = await mkdtemp(join(editing.temporary, 'chatctl-'))
    return await editFile(text, directory, join(directory, editing.fileName), editing)
  } catch (cause) {
    const hint = `Set ${editing.platform === 'win32' ? 'TEMP' : 'TMPDIR'} to a directory that you can write to.`
    throw systemFailure(`Cannot use a file for the editor in ${editing.temporary}`, cause, hint)
  }
}

async function editFile(
  text: string,
  directory: string,
  file: string,
  { platform, command = platform === 'win32' ? 'notepad' : 'vi', env, cwd }: OutsideEditing,
): Promise<string> {
  let isKept = false
  try {
    await writeFile(file, text, { mode: 0o600 })
    const status = await run(editorLine(command, platform), file, { env, cwd, platform })
    if (status !== 0) {
      // The user may have left it on purpose, as with :cq in vi. These mean that the shell cannot run it.
      const cannotRun = typeof status === 'string' || [126, 127, 9009].includes(status)
      throw new Failure('refused', `The editor (${command}) exited with ${status}. The text is unchanged`, {
        hint: cannotRun ? 'Set VISUAL or EDITOR to another editor.' : undefined,
      })
    }
    const bytes = await readFile(file)
    const fault = faultOf(bytes)
    if (fault === undefined) return new TextDecoder().decode(bytes)
    isKept = true
    throw new Failure('refused', `The edited text is ${fault}`, { hint: `The text is in ${file}` })
  } finally {
    if (!isKept) await rm(directory, { recursive: true, force: true })
  }
}

function faultOf(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return 'not UTF-8'
  return bytes.includes(0) ? 'not text: it has a NUL character' : undefined
}

/** In the environment of Windows, the path of a program is usually not quoted although it has spaces. */
function editorLine(command: string, platform: NodeJS.Platform): string {
  return platform === 'win32' && command.includes(' ') && existsSync(command) ? `"${command}"` : command
}

async function run(
  command: string,
  file: string,
  { env, cwd, platform }: Pick<OutsideEditing, 'env' | 'cwd' | 'platform'>,
): Promise<number | string> {
  const { spawn } = await import('node:child_process')
  const child =
    platform === 'win32'
      ? spawn(`${command} "${file}"`, { shell: true, stdio: 'inherit', env, cwd })
      : // Ctrl-C belongs to the editor. The shell receives it too, and must ignore it.
        spawn('/bin/sh', ['-c', `trap : INT; ${command} "$1"`, 'sh', file], { stdio: 'inherit', env, cwd })
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (status, signal) => resolve(status ?? signal ?? 'an unknown signal'))
  })
}
