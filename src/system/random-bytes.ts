import { closeSync, openSync, readSync } from 'node:fs'

/** Random bytes from the system. Loading node:crypto for them would take 5 ms. */
export function randomBytes(length: number): Buffer<ArrayBufferLike> {
  // On Windows, any user could create a file with this name.
  const bytes = process.platform === 'win32' ? undefined : readDevice(length)
  return bytes ?? process.getBuiltinModule('node:crypto').randomBytes(length)
}

/** Undefined in a container without the device. */
function readDevice(length: number): Buffer | undefined {
  const bytes = Buffer.alloc(length)
  try {
    const device = openSync('/dev/urandom', 'r')
    try {
      return readSync(device, bytes) === length ? bytes : undefined
    } finally {
      closeSync(device)
    }
  } catch {
    return undefined
  }
}
