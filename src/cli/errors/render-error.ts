import { readConfiguration } from '../../config/configuration-file.ts'
import { resolveOptions } from '../../config/resolve-options.ts'
import { Failure, type FailureOptions } from '../../contract/failure.ts'
import { joinLines } from '../../contract/notation/text.ts'
import { Directories } from '../../system/files/directories.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { describeDetails } from '../../view/failure-details.ts'
import { wrapWords } from '../../view/format/wrap-words.ts'
import type { Connection } from '../context/connection.ts'
import { Interruption } from '../context/interruption.ts'
import type { InterruptedChange } from '../context/sent-changes.ts'
import { type Host, resolvePath } from '../host.ts'
import { readSharedFlags } from '../line/read-line.ts'
import { loadColors, wantsColor } from '../output/colors.ts'
import type { Streams } from '../output/streams.ts'
import { describeFailure } from './describe-failure.ts'
import { bugExitCode, exitCodeOf } from './exit-codes.ts'

interface ErrorStyle {
  streams: Streams
  json: boolean
  debug: boolean
  noColor: boolean
  /** The service that the run has sent requests to. */
  connection?: Connection | undefined
}

interface Rendered extends Pick<FailureOptions, 'status' | 'details' | 'hint' | 'request'> {
  exitCode: number
  code: string
  message: string
}

/** The one place that turns whatever was thrown into words on stderr and an exit code. @returns the exit code */
export async function reportError(error: unknown, style: ErrorStyle): Promise<number> {
  if (error instanceof Interruption) return error.exitCode
  const { exitCode, ...rendered } = render(lostDirectory(error) ?? error, style)
  await sayRendered(rendered, style)
  if (style.debug) for (const line of originOf(error)) style.streams.say(line)
  return exitCode
}

/**
 * The same for a run that a signal ended.
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

function render(error: unknown, { connection, debug, streams }: ErrorStyle): Rendered {
  if (error instanceof Failure) {
    const { message, hint } = describeFailure(error, connection)
    return {
      exitCode: exitCodeOf(error.isOutcomeUnknown ? 'unknown_outcome' : error.kind),
      code: error.code,
      message,
      status: error.status,
      details: error.details ?? undefined,
      hint,
      request: error.request,
    }
  }
  const { bugs } = JSON.parse(String(streams.host.installation.readFile('package.json')))
  return {
    exitCode: bugExitCode,
    code: 'internal_error',
    message: `This is a bug in chatctl: ${error instanceof Error ? error.message : String(error)}`,
    hint: `${debug ? 'Report this output' : 'Run the command again with --debug, and report the output'} at ${bugs.url}`,
  }
}

/** `process.cwd()` throws this after the working directory was deleted. */
function lostDirectory(error: unknown): Failure | undefined {
  if (!(error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd')) return undefined
  return new Failure('storage', 'The working directory no longer exists', {
    hint: 'Change to an existing directory and run the command again.',
    cause: error,
  })
}

async function sayRendered(rendered: Omit<Rendered, 'exitCode'>, style: ErrorStyle): Promise<void> {
  const { streams } = style
  if (style.json) return streams.say(JSON.stringify({ error: rendered }))
  const { stderr, env } = streams.host
  const colors = await loadColors(wantsColor(stderr, env, style.noColor))
  const { message, hint, request } = rendered
  const details = describeDetails(rendered)
  const line = (label: string, text: string, color?: (text: string) => string): string => {
    const wrapped = wrapWords(stripControls(label + text), streams.messageWidth)
    return color ? wrapped.replace(label.trim(), (found) => color(found)) : wrapped
  }
  const lines = [
    // The message of a service is one line.
    line('Error: ', rendered.status === undefined ? message : joinLines([message]), colors.red),
    ...(details === undefined ? [] : [line('', details)]),
    ...(request?.id ? [line('Request ID: ', request.id)] : []),
    ...(hint === undefined ? [] : [line('Hint:  ', hint, colors.cyan)]),
  ]
  streams.sayStyled(lines.join('\n'))
}

/** Where an error comes from: its causes, and the stack of each that is a bug, without the functions of Node. */
function originOf(error: unknown): string[] {
  const stack = error instanceof Error && !(error instanceof Failure) ? (error.stack ?? '') : ''
  const lines = stack.split('\n').filter((line) => /^ +at (?!.*\(?node:)/.test(line))
  const cause = error instanceof Error ? error.cause : undefined
  if (cause === undefined) return lines
  // The message repeats it.
  if (cause instanceof Failure) return [...lines, ...originOf(cause)]
  return [
    ...lines,
    `Caused by: ${cause instanceof Error ? cause.message : String(cause)}`,
    ...originOf(cause),
  ]
}

/** Whether errors are JSON, judged from the words of a command line that oclif could not read. */
export function wantsJson(argv: readonly string[], host: Pick<Host, 'env' | 'cwd'>): boolean {
  const { env } = host
  const flags = readSharedFlags(argv)
  const isJson = flags.has('json') && flags.get('json') === undefined
  const format = flags.get('output') ?? (isJson ? 'json' : undefined)
  if (format === undefined && (flags.has('jq') || env['CHATCTL_JQ'])) return true
  return /^jsonl?$/.test(format ?? defaultFormat(flags.get('profile'), host) ?? '')
}

/** The output format of the environment or the profile. */
function defaultFormat(profile: string | undefined, host: Pick<Host, 'env' | 'cwd'>): string | undefined {
  const { env } = host
  try {
    const flags = profile === undefined ? {} : { profile }
    return resolveOptions(flags, env, () => readConfiguration(new Directories(env)), {
      mayNameNewProfile: true,
      takesProfileOfAddress: false,
      workingDirectory: resolvePath(host, '.'),
    }).output.value
  } catch {
    return env['CHATCTL_OUTPUT']
  }
}
