import { Writable } from 'node:stream'
import { type Run, type Running, startChatctl } from '../../support/run-chatctl.ts'
import { answerWhenAsked } from './answer-when-asked.ts'
import type { Call } from './calls.ts'
import type { Form } from './forms.ts'
import { patience, type World, type WorldRun } from './world.ts'
import { withClock } from './wrong-clock.ts'

/** Milliseconds until a run is abandoned that does not end even when it is stopped. */
const grace = 3_000

/**
 * Runs the program from src once, in this process. In a terminal, stdout contains everything that was shown.
 */
export async function runInProcess(
  world: World,
  args: readonly string[],
  form: Form,
  call: Call,
): Promise<WorldRun> {
  const isShown = form === 'terminal'
  // In the notation of a shell, in any order.
  const closed = new Set(world.redirections.split(' '))
  const typesStdin = isShown && call.stdin === undefined
  const running = withClock(world.clock, () =>
    startChatctl({ home: world.home, env: world.env, remove: () => {} }, args, {
      cwd: world.here,
      timeout: 2 * patience,
      ...(isShown && { terminal: { columns: world.columns } }),
      host: {
        isTerminal: { stdin: typesStdin, stdout: isShown, stderr: isShown && !closed.has('2>&-') },
        openBrowser: async () => false,
        ...(closed.has('2>&-') && { stderr: new NullStream() as unknown as NodeJS.WriteStream }),
      },
    }),
  )
  if (!typesStdin) running.stdin.end(closed.has('<&-') ? '' : (call.stdin ?? ''))
  answerWhenAsked(running.stdout, form, call, {
    type: (keys) => type(running.stdin, keys),
    stop: () => running.interrupt(isShown ? 'SIGINT' : 'SIGTERM'),
  })
  // Nothing can show that the service is ready.
  const stop = () => running.interrupt('SIGTERM')
  const unheard = call.until && closed.has('>&-') ? setTimeout(stop, 1_000) : undefined
  let watch: NodeJS.Timeout | undefined
  let hung = false
  let seconds = 0
  const givenUp = new Promise<Run>((resolve) => {
    // Counts ticks instead of time: while other work blocks this process, no run makes progress.
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

/** What Node opens for a closed stream. */
class NullStream extends Writable {
  override _write(_chunk: unknown, _encoding: BufferEncoding, done: () => void): void {
    done()
  }
}

/** Outside raw mode, Ctrl-D ends the input, as in a terminal. */
function type(stdin: Running['stdin'], keys: string): void {
  if (keys === '\u0004' && 'isRaw' in stdin && !stdin.isRaw) stdin.end()
  else stdin.write(keys)
}
