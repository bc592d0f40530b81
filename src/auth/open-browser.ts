import { type ChildProcess, spawn } from 'node:child_process'
import { delimiter } from 'node:path'
import open from 'open'
import { splitCommand } from '../system/split-command.ts'

/**
 * Opens an address with the first command in `BROWSER` that succeeds, as xdg-open(1) does, or else with the
 * default browser of the desktop.
 * @param commands separated by colons, or semicolons on Windows; `%s` in a command is replaced by the address,
 *   which otherwise follows it
 * @returns whether a browser was opened. Pending while the browser runs, if the command does not return earlier.
 */
export async function openBrowser(url: string, commands = ''): Promise<boolean> {
  const launchers = commands
    .split(delimiter)
    .map((command) => composeCommand(command, url))
    .filter(([program]) => program !== undefined)
    .map((words) => () => start(words))
  for (const launch of launchers.length > 0 ? launchers : [() => open(url)]) {
    if (await launch().then(succeeds, () => false)) return true
  }
  return false
}

/** Expands a template as printf(1) does: `%%` is a percent sign. */
function composeCommand(command: string, url: string): string[] {
  const words = splitCommand(command) ?? []
  if (!/%s/.test(command)) return words.length > 0 ? [...words, url] : []
  return words.map((word) => word.replaceAll(/%[%s]/g, (sign) => (sign === '%s' ? url : '%')))
}

async function start([program = '', ...words]: readonly string[]): Promise<ChildProcess> {
  const child = spawn(program, words, { stdio: 'ignore', detached: true })
  child.unref()
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(child))
    child.once('error', reject)
  })
}

/** A program that was ended by a signal was a browser that the user closed. */
function succeeds(child: ChildProcess): Promise<boolean> | boolean {
  // Errors after the start are visible in the exit code.
  child.on('error', () => {})
  const isSuccess = (code: number | null) => code === 0 || code === null
  // On Windows, `open` waits for the launcher, which has already ended.
  if (child.exitCode !== null) return isSuccess(child.exitCode)
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(isSuccess(code)))
  })
}
