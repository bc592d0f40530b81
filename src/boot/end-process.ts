import { isatty } from 'node:tty'

/** What may not end by itself. */
const running = new Set<() => void>()

/**
 * Ends this process, now. `process.exit` waits for every native call that another thread is still
 * in, and one to a keychain that does not answer never returns; where the system can put another
 * program in the place of this one, that ends all threads at once.
 */
export function endProcess(exitCode: number): never {
  for (const stop of running) stop()
  if (exitCode === interrupted && isatty(2)) dieOfInterrupt()
  if (running.size > 0 && process.execve) process.execve('/bin/sh', ['sh', '-c', `exit ${exitCode}`], {})
  process.exit(exitCode)
}

/** 128 and SIGINT, as a shell says it. */
const interrupted = 130

/**
 * A shell goes on with its loop after a program that ended by itself, whatever the exit code; it stops
 * where the program died of Ctrl-C, as those do that have no handler for it.
 */
function dieOfInterrupt(): void {
  process.removeAllListeners('SIGINT')
  process.kill(process.pid, 'SIGINT')
}

/**
 * Says that something may not end by itself: a native call on another thread, or, where `stop` can
 * end it, another process.
 *
 * @returns to be called when it has ended
 */
export function untilEnded(stop = () => {}): () => void {
  // Each is an entry of its own, whatever it is stopped by.
  const entry = () => stop()
  running.add(entry)
  return () => {
    running.delete(entry)
  }
}
