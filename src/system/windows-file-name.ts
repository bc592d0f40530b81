import { win32 } from 'node:path'
import { Failure } from '../contract/failure.ts'

/** In every directory, and with any file extension on older versions. */
const devices = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])[\s.:]*(\..*)?$/i

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
  if (devices.test(name)) {
    throw new Failure('usage', `${path} has the name of a device on Windows`, {
      hint: 'Choose another name.',
    })
  }
  if (character !== undefined) {
    throw new Failure('usage', `A file name cannot contain ${character} on Windows: ${path}`, {
      hint: 'Choose another name.',
    })
  }
}
