/** Whether a process of this user exists. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    // EPERM: the process ID now belongs to another user.
    return false
  }
}
