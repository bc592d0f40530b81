import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Call } from '../calls.ts'
import type { Form } from '../forms.ts'
import type { World } from '../world.ts'

/** One fault of the machine. */
export interface Surrounding {
  name: string
  /** Changes the world before the run. */
  make(world: World): void
  /** How a call ends: as without the fault, or with one of these exit codes. */
  ends(call: Call, form: Form): 'fine' | readonly number[]
  /** Forms in which the fault can be tested (default: all). */
  forms?: readonly Form[]
  /** Whether the fault can be tested on this machine. */
  isPossible?: () => boolean
  /** Set if the output must not contain escape sequences. */
  isPlain?: true
}

/** A user id that owns nothing and that the system does not know. */
const stranger = 54_321

/** Root can read every file, so faults of permissions run as another user. */
export const canLosePermissions = (): boolean =>
  process.platform !== 'win32' &&
  (process.getuid?.() !== 0 || spawnSync('setpriv', ['--version'], { stdio: 'ignore' }).status === 0)

/** Makes the run use another user than root, who owns the whole world. */
export function loseRoot(world: World): void {
  if (process.getuid?.() !== 0) return
  world.user = stranger
  const give = (path: string): void => {
    chownSync(path, stranger, stranger)
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const below = join(path, entry.name)
      if (entry.isDirectory()) give(below)
      else chownSync(below, stranger, stranger)
    }
  }
  give(world.root)
  // The directory above must be searchable.
  chmodSync(join(world.root, '..'), 0o711)
}

/** Removes write permission from a directory and its subdirectories, as on a read-only disk. */
export function makeReadOnly(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) makeReadOnly(path)
    else chmodSync(path, 0o400)
  }
  chmodSync(directory, 0o500)
}
