import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * Waits until a process ends, and measures its memory in /proc, which only Linux has.
 * @returns its exit code, and its peak memory in bytes
 */
export async function watchPeakMemory(
  child: ChildProcess,
): Promise<{ exitCode: number | null; peak: number }> {
  let peak = 0
  const timer = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      peak = Math.max(peak, Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024)
    } catch {
      // The process has ended.
    }
  }, 10)
  try {
    const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { exitCode, peak }
  } finally {
    clearInterval(timer)
  }
}
