import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from './failure.ts'
import { systemWords } from './system-words.ts'

export interface OutsideEditing {
  /** What the editor sees the text as: many tell by its ending what it is. */
  fileName: string
  /** As a shell takes it, such as `code --wait`; vi where there is none. */
  command?: string | undefined
}

/**
 * Has a text edited by another program on the same terminal.
 *
 * @returns the file as the program left it
 * @throws Failure `refused` where the program fails, `storage` where its file cannot be written or
 *   read; the text is as it was
 */
export async function editOutside(text: string, editing: OutsideEditing): Promise<string> {
  try {
    return await editFile(text, editing)
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    throw new Failure('storage', `The editor's file cannot be used: ${systemWords(cause)}`, { cause })
  }
}

async function editFile(text: string, { fileName, command = 'vi' }: OutsideEditing): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'chatctl-'))
  const file = join(folder, fileName)
  try {
    await writeFile(file, text, { mode: 0o600 })
    const status = await run(command, file)
    if (status !== 0) {
      throw new Failure('refused', `The editor (${command}) ended with ${status}; the text is unchanged`, {
        hint: 'VISUAL or EDITOR names the editor.',
      })
    }
    return await readFile(file, 'utf8')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function run(command: string, file: string): Promise<number | string> {
  const { spawn } = await import('node:child_process')
  const child =
    process.platform === 'win32'
      ? spawn(`${command} "${file}"`, { shell: true, stdio: 'inherit' })
      : // Ctrl-C is for the editor to take as it likes; the shell around it gets it too, and lives on.
        spawn('/bin/sh', ['-c', `trap : INT; ${command} "$1"`, 'sh', file], { stdio: 'inherit' })
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (status, signal) => resolve(status ?? signal ?? 'an unknown signal'))
  })
}
