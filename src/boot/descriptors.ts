import { fstatSync, statSync } from 'node:fs'
import { devNull } from 'node:os'

/** Loads node:tty only for a device, because few runs in scripts have one. */
export function isTerminal(descriptor: number): boolean {
  if (!isDevice(descriptor) || isNullDevice(descriptor)) return false
  return process.getBuiltinModule('node:tty').isatty(descriptor)
}

/** Also true if the system does not tell. */
function isDevice(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice()
  } catch {
    return true
  }
}

export function isNullDevice(descriptor: number): boolean {
  try {
    const { rdev } = fstatSync(descriptor)
    return rdev !== 0 && rdev === statSync(devNull).rdev
  } catch {
    return false
  }
}

export function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile()
  } catch {
    return false
  }
}
