import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '../support/sandbox.ts'

/**
 * Mounts a small disk in a sandbox. Needs root.
 * @param size in the notation of tmpfs, such as `1m`
 */
export function mountSmallDisk(sandbox: Sandbox, size: string): { path: string; unmount(): void } {
  const path = join(sandbox.home, 'disk')
  mkdirSync(path)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path])
  return { path, unmount: () => execFileSync('umount', [path]) }
}
