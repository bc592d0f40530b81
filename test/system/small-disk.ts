import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '../support/sandbox.ts'

/**
 * A disk of its own in a sandbox. Needs root, to mount.
 * @param size as tmpfs takes it, such as `1m`
 */
export function mountSmallDisk(sandbox: Sandbox, size: string): { path: string; unmount(): void } {
  const path = join(sandbox.home, 'disk')
  mkdirSync(path)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path])
  return { path, unmount: () => execFileSync('umount', [path]) }
}
