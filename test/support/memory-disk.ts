import { readFileSync, statfsSync } from 'node:fs'

/**
 * Required by .mocharc.json. Most of the time of `npm test` would be flushes and removals of small files on a disk, so
 * temporary files are in memory if Linux has room for them, and lets programs be started there.
 */
const directory = '/dev/shm'

/** In bytes. A run needs less than half of it at a time. */
const room = 2 ** 30

function hasMemoryDisk(): boolean {
  if (process.platform !== 'linux') return false
  const options = /^\S+ \/dev\/shm tmpfs (\S+)/m.exec(readFileSync('/proc/mounts', 'utf8'))?.[1]
  if (options === undefined || options.split(',').some((one) => one === 'noexec' || one === 'ro'))
    return false
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize > room
}

if (hasMemoryDisk()) process.env['TMPDIR'] = directory
