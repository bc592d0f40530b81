import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Call } from '../calls.ts'
import type { Form } from '../forms.ts'
import type { World } from '../world.ts'

/** One thing on this machine that is not as it should be. */
export interface Surrounding {
  name: string
  /** Changes the world before the run. */
  make(world: World): void
  /** What a call ends in: as if nothing were wrong, or in one of some exit codes. */
  ends(call: Call, form: Form): 'fine' | readonly number[]
  /** Where it can be shown; everywhere unless said. */
  forms?: readonly Form[]
  /** Whether this machine can show it. */
  isPossible?: () => boolean
  /** Text that only a terminal of this kind may get. */
  isPlain?: true
}

/** A user that owns nothing and that no system knows. */
const stranger = 54_321

/** To root no file is unreadable: what is about permissions runs as somebody else then. */
export const canLosePermissions = (): boolean =>
  process.platform !== 'win32' &&
  (process.getuid?.() !== 0 || spawnSync('setpriv', ['--version'], { stdio: 'ignore' }).status === 0)

/** Has the run made by a user who is not root, to whom all of the world belongs. */
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
  // Above it the way must be open.
  chmodSync(join(world.root, '..'), 0o711)
}

/** Takes the right to write from a folder and all folders in it, as on a disk that is read-only. */
export function makeReadOnly(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) makeReadOnly(path)
    else chmodSync(path, 0o400)
  }
  chmodSync(folder, 0o500)
}
