import { win32 } from 'node:path'
import { Failure } from '../../contract/failure.ts'

/** In every directory, and with any file extension on older versions. */
const devices = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])[\s.:]*(\..*)?$/is

/** Whether Windows takes a path for the null device. */
export function isNullDevicePath(path: string, platform: NodeJS.Platform): boolean {
  return platform === 'win32' && /^nul:?$/i.test(win32.basename(path))
}

/**
 * Refuses a new file that Windows would not create: it would write to a device, or to an alternate stream of
 * another file, or it would create a file that no other program can open.
 *
 * @throws Failure `usage`
 */
export function demandFileName(path: string, platform: NodeJS.Platform = process.platform): void {
  if (platform !== 'win32') return
  const name = win32.basename(path)
  const [character] = /[<>:"|?*]/.exec(name) ?? []
  const refused = (message: string) => new Failure('usage', message, { hint: 'Choose another name.' })
  if (devices.test(name)) throw refused(`${path} has the name of a device on Windows`)
  if (character !== undefined) throw refused(`A file name cannot contain ${character} on Windows: ${path}`)
  if (/[^ .][ .]+$/.test(name)) {
    throw refused(`A file name cannot end with a period or a space on Windows: ${path}`)
  }
}
