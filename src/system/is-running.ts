/** Whether a process of this user exists. @param ofAnyUser also one of another user */
export function isRunning(pid: number, ofAnyUser = false): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process ID belongs to another user.
    return ofAnyUser && (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
