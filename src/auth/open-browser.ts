import type { ChildProcess } from 'node:child_process'
import open from 'open'

/**
 * Shows an address in the browser: that of `BROWSER`, whose words are a program and its arguments,
 * else the one that the desktop has chosen.
 *
 * @param onFailure called when nothing could be opened, then or later
 */
export async function openBrowser(
  url: string,
  browser: string | undefined,
  onFailure: () => void,
): Promise<void> {
  const [name, ...words] = browser?.trim().split(/\s+/) ?? []
  try {
    const started: ChildProcess = await open(url, name ? { app: { name, arguments: words } } : {})
    started.once('exit', (code) => {
      if (code !== 0 && code !== null) onFailure()
    })
    // What it fails by after its start was said by its exit.
    started.on('error', () => {})
  } catch {
    onFailure()
  }
}
