/**
 * Ends this process, now. `process.exit` waits for every native call that another thread is still
 * in, and one to a keychain that does not answer never returns; where the system can put another
 * program in the place of this one, that ends all threads at once.
 */
export function endProcess(exitCode: number): never {
  if (heldThreads > 0 && process.execve) process.execve('/bin/sh', ['sh', '-c', `exit ${exitCode}`], {})
  process.exit(exitCode)
}

let heldThreads = 0

/**
 * Says that a native call has a thread that it may not give back.
 *
 * @returns to be called when it has
 */
export function holdThread(): () => void {
  heldThreads++
  return () => {
    heldThreads--
  }
}
