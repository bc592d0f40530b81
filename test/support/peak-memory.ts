import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * Waits until a process ends, and counts in /proc meanwhile: Linux alone has that.
 * @returns its exit code, and the most memory in bytes that it had at once
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
      // It has ended.
    }
  }, 10)
  try {
    const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { exitCode, peak }
  } finally {
    clearInterval(timer)
  }
}
