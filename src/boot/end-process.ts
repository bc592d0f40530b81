import { isatty } from 'node:tty'

const cleanups = new Set<(exitCode: number) => void>()

/** What may not end by itself. */
const running = new Set<() => void>()

/**
 * Ends this process, now. `process.exit` waits for every native call that another thread is still
 * in, and one to a keychain that does not answer never returns; where the system can put another
 * program in the place of this one, that ends all threads at once.
 */
export function endProcess(exitCode: number): never {
  // Neither a signal nor another program in the place of this one emits `exit`.
  cleanUp(exitCode)
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
 * Calls `cleanup` when the process ends, except by SIGKILL.
 *
 * @returns withdraws it
 */
export function onExit(cleanup: (exitCode: number) => void): () => void {
  // Each is an entry of its own.
  const entry = (exitCode: number) => cleanup(exitCode)
  process.off('exit', cleanUp).on('exit', cleanUp)
  cleanups.add(entry)
  return () => {
    cleanups.delete(entry)
  }
}

function cleanUp(exitCode: number): void {
  for (const cleanup of cleanups) {
    cleanups.delete(cleanup)
    cleanup(exitCode)
  }
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
