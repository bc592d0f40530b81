import { type ChildProcess, spawn } from 'node:child_process'
import open from 'open'

/**
 * Shows an address in the browser: in the program that `BROWSER` names, with its arguments before
 * the address, else in what the desktop has chosen.
 *
 * @param onFailure called when nothing could be opened, then or later
 */
export async function openBrowser(
  url: string,
  browser: string | undefined,
  onFailure: () => void,
): Promise<void> {
  try {
    const [program, ...words] = browser?.trim().split(/\s+/) ?? []
    const started = program ? await start(program, [...words, url]) : await open(url)
    const judge = (code: number | null) => {
      if (code !== 0 && code !== null) onFailure()
    }
    // Where a launcher is waited for, as on Windows, it has ended by now.
    if (started.exitCode === null) started.once('exit', judge)
    else judge(started.exitCode)
    // What it fails by after its start is said by its exit.
    started.on('error', () => {})
  } catch {
    onFailure()
  }
}

function start(program: string, words: readonly string[]): Promise<ChildProcess> {
  const child = spawn(program, words, { stdio: 'ignore', detached: true })
  child.unref()
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(child))
    child.once('error', reject)
  })
}
