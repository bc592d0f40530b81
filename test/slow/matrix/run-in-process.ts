import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { type Run, type Running, startChatctl } from '../../support/run-chatctl.ts'
import type { Call } from './calls.ts'
import type { Form } from './forms.ts'
import { patience, type World, type WorldRun } from './world.ts'
import { withClock } from './wrong-clock.ts'

/** A run that does not even end when it is stopped has this long, in ms. */
const grace = 3_000

/** Runs the program in src once, in this process. On a terminal stdout has all that was shown. */
export async function runInProcess(
  world: World,
  args: readonly string[],
  form: Form,
  call: Call,
): Promise<WorldRun> {
  const isShown = form === 'terminal'
  // As a shell has them, in whatever order.
  const closed = new Set(world.redirections.split(' '))
  const typesStdin = isShown && call.stdin === undefined
  const running = withClock(world.clock, () =>
    startChatctl({ home: world.home, env: world.env, remove: () => {} }, args, {
      cwd: world.here,
      timeout: 2 * patience,
      ...(isShown && { terminal: { columns: world.columns } }),
      host: {
        isTerminal: { stdin: typesStdin, stdout: isShown, stderr: isShown && !closed.has('2>&-') },
        isStdoutClosed: () => closed.has('>&-'),
        openBrowser: async () => false,
        ...(closed.has('2>&-') && { stderr: new NullStream() as unknown as NodeJS.WriteStream }),
      },
    }),
  )
  if (!typesStdin) running.stdin.end(closed.has('<&-') ? '' : (call.stdin ?? ''))
  answerWhenAsked(running, isShown, call)
  // Nobody hears that it is ready.
  const stop = () => running.interrupt('SIGTERM')
  const unheard = call.until && closed.has('>&-') ? setTimeout(stop, 1_000) : undefined
  let watch: NodeJS.Timeout | undefined
  let hung = false
  let seconds = 0
  const givenUp = new Promise<Run>((resolve) => {
    // Ticks rather than time: while other work blocks this process, no run gets on.
    watch = setInterval(() => {
      seconds += 1
      hung = seconds * 1_000 > patience
      if (hung) stop()
      if (seconds * 1_000 > patience + grace) resolve({ exitCode: null, ...running.written() })
    }, 1_000)
  })
  const ended = await Promise.race([running.ended, givenUp])
  clearInterval(watch)
  clearTimeout(unheard)
  return {
    ...ended,
    hung,
    signal: null,
    stdout: closed.has('>&-') ? '' : ended.stdout,
    stderr: isShown || closed.has('2>&-') ? '' : ended.stderr,
  }
}

/** What Node opens in the place of a closed stream. */
class NullStream extends Writable {
  override _write(_chunk: unknown, _encoding: BufferEncoding, done: () => void): void {
    done()
  }
}

/** A person leaves what asks, talks in a session, and stops a service that is ready. */
function answerWhenAsked(running: Running, isShown: boolean, { typed, until }: Call): void {
  const { stdin, stdout } = running
  let seen = ''
  let isListening = false
  let isAnswered = false
  stdout.on('data', (chunk) => {
    seen += stripVTControlCharacters(String(chunk))
    // Pastes in brackets: from then on keys are read.
    isListening ||= String(chunk).includes('\u001b[?2004h')
    if (isAnswered) return
    if (until?.test(seen)) {
      isAnswered = true
      running.interrupt(isShown ? 'SIGINT' : 'SIGTERM')
    } else if (isShown && typed !== undefined && (isListening || /^> ?/m.test(seen))) {
      isAnswered = true
      // The question is drawn before the keyboard is listened to.
      setTimeout(() => type(stdin, typed), 100)
    } else if (isShown && /\? .*(?:\(y\/N\)|\[input is masked\])/s.test(seen)) {
      isAnswered = true
      setTimeout(() => type(stdin, '\u0003'), 100)
    }
  })
}

/** Outside of raw mode Ctrl-D is the end, as a terminal has it. */
function type(stdin: Running['stdin'], keys: string): void {
  if (keys === '\u0004' && 'isRaw' in stdin && !stdin.isRaw) stdin.end()
  else stdin.write(keys)
}
