import { closeSync, openSync, readSync } from 'node:fs'

/** Random bytes from the system. Loading node:crypto for them would take 5 ms. */
export function randomBytes(length: number): Buffer<ArrayBufferLike> {
  const bytes = Buffer.alloc(length)
  try {
    const device = openSync('/dev/urandom', 'r')
    try {
      if (readSync(device, bytes) === length) return bytes
    } finally {
      closeSync(device)
    }
  } catch {
    // Windows, and containers without the device.
  }
  return process.getBuiltinModule('node:crypto').randomBytes(length)
}
