import { type ChildProcess, spawn } from 'node:child_process'
import { delimiter } from 'node:path'
import open from 'open'

/**
 * Shows an address in a browser: with the first command of `BROWSER` that works, read as xdg-open(1)
 * reads it, else in the browser of the desktop.
 *
 * @param commands a list with colons between; `%s` in a command stands for the address, which else
 *   follows it
 * @returns whether a browser was opened. Pending while it runs, where it is its own launcher.
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

/** As printf(1) fills in the template: `%%` is a percent sign. */
function composeCommand(command: string, url: string): string[] {
  const words = command.split(/\s+/).filter((word) => word !== '')
  if (!/%s/.test(command)) return words.length > 0 ? [...words, url] : []
  return words.map((word) => word.replaceAll(/%[%s]/g, (sign) => (sign === '%s' ? url : '%')))
}

function start([program = '', ...words]: readonly string[]): Promise<ChildProcess> {
  const child = spawn(program, words, { stdio: 'ignore', detached: true })
  child.unref()
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(child))
    child.once('error', reject)
  })
}

/** A program that a signal ended was a browser that somebody closed. */
function succeeds(child: ChildProcess): Promise<boolean> | boolean {
  // What it fails by after its start is said by its exit.
  child.on('error', () => {})
  const judge = (code: number | null) => code === 0 || code === null
  // Where a launcher is waited for, as on Windows, it has ended by now.
  if (child.exitCode !== null) return judge(child.exitCode)
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(judge(code)))
  })
}
