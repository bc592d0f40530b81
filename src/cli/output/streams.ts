import { isatty } from 'node:tty'
import { Failure } from '../../contract/failure.ts'
import { endProcess } from '../../system/end-process.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { demandOpenStdout } from './closed-stdout.ts'

/** stdout is data, stderr is conversation: what is below is all that writes to either. */

/** Whether a person can answer: questions are read from stdin and asked on stderr. */
export function isInteractive(): boolean {
  // Asked of the descriptors: merely looking at process.stdin opens it.
  return isatty(0) && isatty(2)
}

/**
 * Writes and waits until the reader has taken it.
 *
 * @throws Failure `storage` when stdout is closed, or the other end cannot keep it, as on a full disk
 */
export async function writeData(text: string | Uint8Array): Promise<void> {
  demandOpenStdout()
  if (statusLine !== '') drawStatus('')
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      if (!error) return resolve()
      reject(new Failure('storage', `stdout cannot be written: ${error.message}`, { cause: error }))
    })
  })
}

/** Whether a person reads what is said. */
export function isWatched(): boolean {
  return isatty(2)
}

/** Whether a person sees what is written and types what is read. */
export function isConversation(): boolean {
  return isatty(0) && isatty(1)
}

/** What a session draws: data and conversation are one there, and both on stdout. */
export function writeTerminal(text: string): void {
  process.stdout.write(text)
}

/** Resolves when the terminal has taken what was written; undefined where it has. */
export function drainTerminal(): Promise<void> | undefined {
  if (!process.stdout.writableNeedDrain) return undefined
  return new Promise((resolve) => process.stdout.once('drain', resolve))
}

/** One line, or several, for the person; what came from elsewhere cannot steer the terminal. */
export function say(text: string): void {
  sayStyled(stripControls(text))
}

/** For lines that carry our own colours; whatever they quote was stripped before. */
export function sayStyled(text: string): void {
  if (lineTaker) lineTaker(text)
  else if (statusLine === '') process.stderr.write(`${text}\n`)
  else process.stderr.write(`${eraseLine}${text}\n${statusLine}`)
}

/** What a person types, where the terminal does not show it by itself. */
export function echoTyped(text: string): void {
  process.stderr.write(text)
}

let lineTaker: ((text: string) => void) | undefined

/**
 * Has the lines for the person given to whoever has the screen, for they would be drawn over.
 * @returns to be called when stderr gets them again
 */
export function takeLines(onLine: (text: string) => void): () => void {
  lineTaker = onLine
  return () => {
    lineTaker = undefined
  }
}

const eraseLine = '\r\u001b[2K'
let statusLine = ''

/** Draws over the last line of a terminal on stderr; what is said meanwhile goes above it. */
export function drawStatus(text: string): void {
  statusLine = stripControls(text)
  process.stderr.write(`${eraseLine}${statusLine}`)
}

let stdoutError: NodeJS.ErrnoException | undefined

/** @throws Failure `storage` when something that did not wait, such as help, could not be written */
export async function demandWholeStdout(): Promise<void> {
  // The stream tells of it in a turn of its own, after all that waits for a promise.
  await new Promise<void>((resolve) => process.nextTick(resolve))
  if (stdoutError) throw new Failure('storage', `stdout cannot be written: ${stdoutError.message}`)
}

/**
 * A reader that has seen enough, such as `head`, is no failure: a closed stdout ends the program
 * with success; what else goes wrong with it `writeData` throws. Nobody listens to a closed stderr.
 */
export function watchClosedPipes(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') endProcess(0)
    stdoutError = error
  })
  process.stderr.on('error', () => {})
}

/** Runs what writes words of its own to stderr, which are not for people. */
export function withSilentConsole<T>(work: () => T): T {
  const { error } = console
  console.error = () => {}
  try {
    return work()
  } finally {
    console.error = error
  }
}
