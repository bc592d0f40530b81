import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../../failure.ts'
import { systemWords } from '../../system-words.ts'

/**
 * Has a text edited by another program on the same terminal.
 *
 * @param command as a shell takes it, such as `code --wait`
 * @throws Failure `refused` where the program fails, `storage` where its file cannot be written or
 *   read; the text is as it was
 */
export async function editOutside(text: string, command = 'vi'): Promise<string> {
  try {
    return await editFile(text, command)
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    throw new Failure('storage', `The editor's file cannot be used: ${systemWords(cause)}`, { cause })
  }
}

async function editFile(text: string, command: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'chatctl-'))
  const file = join(folder, 'message.md')
  try {
    await writeFile(file, text, { mode: 0o600 })
    const status = await run(command, file)
    if (status !== 0) {
      throw new Failure('refused', `The editor (${command}) ended with ${status}; the text is unchanged`, {
        hint: 'VISUAL or EDITOR names the editor.',
      })
    }
    return (await readFile(file, 'utf8')).replaceAll('\r\n', '\n').trimEnd()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function run(command: string, file: string): Promise<number | string> {
  const { spawn } = await import('node:child_process')
  const child =
    process.platform === 'win32'
      ? spawn(`${command} "${file}"`, { shell: true, stdio: 'inherit' })
      : spawn('/bin/sh', ['-c', `${command} "$1"`, 'sh', file], { stdio: 'inherit' })
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (status, signal) => resolve(status ?? signal ?? 'an unknown signal'))
  })
}
