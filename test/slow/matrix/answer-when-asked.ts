import { stripVTControlCharacters } from 'node:util'
import type { Call } from './calls.ts'
import type { Form } from './forms.ts'

interface User {
  type(keys: string): void
  /** Stops a service that is ready. */
  stop(): unknown
}

/** Acts as the user: cancels prompts, types into a session, and stops a service that is ready. */
export function answerWhenAsked(
  stdout: NodeJS.ReadableStream | null,
  form: Form,
  { typed, until }: Call,
  { type, stop }: User,
): void {
  let seen = ''
  let isListening = false
  let isAnswered = false
  const answer = (keys: string) => {
    isAnswered = true
    // The prompt is drawn before the keyboard is read.
    setTimeout(() => type(keys), 100).unref()
  }
  stdout?.on('data', (chunk) => {
    seen += stripVTControlCharacters(String(chunk))
    // Bracketed paste is enabled when keys are read.
    isListening ||= String(chunk).includes('\u001b[?2004h')
    if (isAnswered) return
    if (until?.test(seen)) {
      isAnswered = true
      stop()
    } else if (form !== 'terminal') return
    else if (typed !== undefined && (isListening || /^> ?/m.test(seen))) answer(typed)
    else if (/\? .*(?:\(y\/N\)|\[input is masked\])/s.test(seen)) answer('\u0003')
  })
}
