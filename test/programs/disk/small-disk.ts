import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '../../support/sandbox.ts'

/**
 * Mounts a small disk in a sandbox. Needs root.
 * @param size in the notation of tmpfs, such as `1m`
 */
export function mountSmallDisk(sandbox: Sandbox, size: string) {
  const path = join(sandbox.home, 'disk')
  mkdirSync(path)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path])
  const remove = () => void execFileSync('umount', [path])
  return { path, remove, [Symbol.dispose]: remove }
}

/**
 * Fills a disk, also while another process writes to it.
 *
 * @param left bytes that stay free
 * @returns makes the space free again
 */
export function fillDisk(disk: string, left = 0): () => void {
  const { bavail, bsize } = statfsSync(disk)
  const ballast = join(disk, 'ballast')
  try {
    writeFileSync(ballast, Buffer.alloc(bavail * bsize - left))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
  return () => rmSync(ballast, { force: true })
}
