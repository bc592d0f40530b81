import { accessSync, constants } from 'node:fs'
import { isTerminal } from './descriptors.ts'

const cleanups = new Set<(exitCode: number) => void>()

/** Stops for work that may not end by itself. */
const running = new Set<() => void>()

/**
 * Ends this process immediately. `process.exit` waits for other threads, and a call to a keychain that does not
 * respond never returns.
 */
export function endProcess(exitCode: number): never {
  // Neither a signal nor execve emits `exit`.
  cleanUp(exitCode)
  for (const stop of running) stop()
  // On Windows, a process that kills itself exits with 1.
  if (exitCode === interrupted && process.platform !== 'win32' && isTerminal(2)) dieOfInterrupt()
  if (running.size > 0 && process.platform !== 'win32') replaceProcess(exitCode)
  process.exit(exitCode)
}

/** Ends all threads with execve(2). */
function replaceProcess(exitCode: number): void {
  const shell = '/bin/sh'
  try {
    accessSync(shell, constants.X_OK)
    process.execve?.(shell, ['sh', '-c', `exit ${exitCode}`], {})
  } catch {
    // A container may have no shell.
  }
}

/** The exit code of a shell for SIGINT: 128 and the number of the signal. */
const interrupted = 130

/**
 * A shell continues its loop after a program that exited, with any exit code. It stops the loop only if
 * SIGINT killed the program, so this process kills itself with SIGINT.
 */
function dieOfInterrupt(): void {
  process.removeAllListeners('SIGINT')
  process.kill(process.pid, 'SIGINT')
}

/** Calls `cleanup` when the process ends, except by SIGKILL. @returns withdraws it */
export function onExit(cleanup: (exitCode: number) => void): () => void {
  // A new function, so that the same cleanup can be registered twice.
  const entry = (exitCode: number) => cleanup(exitCode)
  process.off('exit', cleanUp).on('exit', cleanUp)
  cleanups.add(entry)
  return () => {
    cleanups.delete(entry)
  }
}

/** Whether something is undone or stopped only by `endProcess`. */
export function mustCleanUp(): boolean {
  return cleanups.size + running.size > 0
}

function cleanUp(exitCode: number): void {
  for (const cleanup of cleanups) {
    cleanups.delete(cleanup)
    cleanup(exitCode)
  }
}

/**
 * Registers work that may not end by itself: a native call on another thread, or another process, which
 * `stop` ends.
 * @returns the function to call when the work has ended
 */
export function untilEnded(stop = () => {}): () => void {
  // A new function, so that the same stop can be registered twice.
  const entry = () => stop()
  running.add(entry)
  return () => {
    running.delete(entry)
  }
}
