import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { median } from '../measure.ts'

/** Time of one fdatasync after a small write, in ms. */
export function measureFdatasync(directory: string): number {
  const file = openSync(join(directory, 'sync'), 'w')
  const times = Array.from({ length: 101 }, () => {
    writeSync(file, 'x'.repeat(4096))
    const startedAt = performance.now()
    fdatasyncSync(file)
    return performance.now() - startedAt
  })
  closeSync(file)
  return median(times)
}
