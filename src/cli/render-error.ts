import type { FailedRequest } from '../contract/failure.ts'
import { Failure } from '../contract/failure.ts'
import { stripControls } from '../terminal/strip-controls.ts'
import { describeDetails } from '../view/failure-details.ts'
import { bugExitCode, exitCodeOf } from './exit-codes.ts'
import { hintOf } from './hints.ts'
import { Interruption } from './interruption.ts'
import { loadColours, wantsColour } from './output/colours.ts'
import type { Streams } from './output/streams.ts'
import type { InterruptedChange } from './sent-changes.ts'

export interface ErrorStyle {
  streams: Streams
  json: boolean
  debug: boolean
  noColour: boolean
  /** What helps against a 401 that does not say so itself. */
  reauthenticationHint?: string | undefined
}

interface Rendered {
  exitCode: number
  code: string
  message: string
  status?: number
  details?: unknown
  hint?: string
  request?: FailedRequest
}

/**
 * The one place that turns whatever was thrown into words on stderr and an exit code.
 *
 * @returns the exit code
 */
export async function reportError(error: unknown, style: ErrorStyle): Promise<number> {
  if (error instanceof Interruption) return error.exitCode
  const { exitCode, ...rendered } = render(lostFolder(error) ?? error, style.reauthenticationHint)
  await sayRendered(rendered, style)
  if (style.debug) style.streams.say(stackOf(error))
  return exitCode
}

/**
 * The same for a run that a signal ended.
 *
 * @param change what is known of the changes that it was to make; undefined where it was to make none
 */
export async function reportInterruption(
  { exitCode }: Interruption,
  change: InterruptedChange | undefined,
  style: ErrorStyle,
): Promise<number> {
  if (change) await sayRendered({ code: 'interrupted', ...change }, style)
  return exitCode
}

async function sayRendered(rendered: Omit<Rendered, 'exitCode'>, style: ErrorStyle): Promise<void> {
  if (style.json) style.streams.say(JSON.stringify({ error: rendered }))
  else await sayInWords(rendered, style)
}

function render(error: unknown, reauthenticationHint: string | undefined): Rendered {
  if (error instanceof Failure) {
    const hint = hintOf(error) ?? (error.status === 401 ? reauthenticationHint : hintOfAddress(error))
    return {
      exitCode: exitCodeOf(error.inDoubt ? 'unknown_outcome' : error.kind),
      code: error.code,
      message: error.message,
      ...(error.status === undefined ? {} : { status: error.status }),
      ...(error.details === undefined || error.details === null ? {} : { details: error.details }),
      ...(hint === undefined ? {} : { hint }),
      ...(error.request === undefined ? {} : { request: error.request }),
    }
  }
  return {
    exitCode: bugExitCode,
    code: 'bug',
    message: `This is a bug in chatctl: ${error instanceof Error ? error.message : String(error)}`,
    hint: 'Run it again with --debug and report what it shows.',
  }
}

/** Elsewhere people are found by their email. */
function hintOfAddress({ status, request }: Failure): string | undefined {
  const isEmail = status === 404 && request !== undefined && /\/users\/[^/]*%40/i.test(request.url)
  return isEmail
    ? 'Users are known by their id, which users create prints, and not by their email.'
    : undefined
}

/** Whatever needs the current directory, to make a path of a name, fails so when it was deleted. */
function lostFolder(error: unknown): Failure | undefined {
  if (!(error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd')) return undefined
  return new Failure('storage', 'The working directory no longer exists', {
    hint: 'Change to an existing directory and run the command again.',
    cause: error,
  })
}

async function sayInWords(rendered: Omit<Rendered, 'exitCode'>, style: ErrorStyle): Promise<void> {
  const { stderr, env } = style.streams.host
  const colours = await loadColours(wantsColour(stderr, env, style.noColour))
  const { message, hint, request } = rendered
  const clean = stripControls
  const lines = [`${colours.red('Error:')} ${clean(message)}`]
  const details = describeDetails(rendered)
  if (details !== undefined) lines.push(clean(details))
  if (request?.id) lines.push(clean(`Request: ${request.method} ${request.url}, id ${request.id}`))
  if (hint !== undefined) lines.push(`${colours.cyan('Hint:')} ${clean(hint)}`)
  style.streams.sayStyled(lines.join('\n'))
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const own = error.stack ?? error.message
  return error.cause === undefined ? own : `${own}\nCaused by: ${stackOf(error.cause)}`
}
