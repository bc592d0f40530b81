import { fstatSync, readFileSync, readlinkSync, statSync } from 'node:fs'
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

let known: boolean | undefined

/**
 * Node replaces a closed stdout by /dev/null, opened for reading and writing, before any program code runs.
 * Programs that discard output, such as Node and Python, open it in the same way for their children, but a
 * shell opens it for writing only. So stdout was certainly closed if the parent is a shell whose own stdout
 * is not that file, or if the parent has no stdout. Only Linux has this information, in /proc.
 */
export function isStdoutClosed(): boolean {
  known ??= findClosed()
  return known
}

function findClosed(): boolean {
  if (process.platform !== 'linux') return false
  try {
    if (!fstatSync(1).isCharacterDevice() || !isNullForBoth('self')) return false
    const parent = String(process.ppid)
    const shell = /^(sh|bash|dash|ash|busybox|zsh|ksh|mksh|fish)$/
    const isShell = shell.test(readFileSync(`/proc/${parent}/comm`, 'utf8').trim())
    return hasNoStdout(parent) || (isShell && !isNullForBoth(parent))
  } catch {
    return false
  }
}

function isNullForBoth(pid: string): boolean {
  if (readlinkSync(`/proc/${pid}/fd/1`) !== '/dev/null') return false
  const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/1`, 'utf8'))?.[1] ?? '0'
  const [accessMode, readAndWrite] = [0o3, 0o2]
  return (Number.parseInt(flags, 8) & accessMode) === readAndWrite
}

function hasNoStdout(pid: string): boolean {
  try {
    readlinkSync(`/proc/${pid}/fd/1`)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}
