import type { loadJq } from 'jq-wasm'
import { Failure } from '../../contract/failure.ts'
import { leaveSignalsToSystem } from '../../system/leave-signals-to-system.ts'

/** jq's exit code for a filter that it cannot read (jq manual, "Invoking jq"). */
const compileError = 3

/**
 * Compiles the filter, so that a mistake shows before a request leaves.
 *
 * @throws Failure `usage` with jq's own words
 */
export async function checkFilter(filter: string): Promise<void> {
  // Of no input it has nothing to run on.
  const run = await runJq('', filter, [])
  if (run === 'exhausted') {
    throw new Failure('usage', `--jq: ${exhaustedWords}`, { hint: languageHint })
  }
  if (run.exitCode !== compileError) return
  throw new Failure('usage', `--jq: ${withoutName(run.stderr)}`, { hint: languageHint })
}

const languageHint = 'See the jq manual: https://jqlang.org/manual/'
const exhaustedWords = 'the filter used too much memory or recursed too deeply'

/**
 * Runs real jq, compiled to WebAssembly and loaded only here; strings come out raw.
 *
 * @throws Failure `invalid_response` with jq's own words when the filter fails on this body
 */
export async function filterWithJq(body: unknown, filter: string, { compact = false } = {}): Promise<string> {
  const run = await runJq(JSON.stringify(body), filter, compact ? ['-c'] : [])
  // Not `usage`, because the request was already sent.
  if (run === 'exhausted') {
    throw new Failure('invalid_response', `--jq cannot filter the response: ${exhaustedWords}`, {
      hint: 'The request was sent; only its response is not shown. Simplify the filter, or use --json without --jq.',
    })
  }
  if (run.exitCode !== 0) {
    throw new Failure('invalid_response', `--jq cannot filter the response: ${withoutName(run.stderr)}`, {
      hint: 'The request was sent; only its response is not shown.',
    })
  }
  return run.stdout === '' ? '' : `${withRawStrings(run.stdout)}\n`
}

/** As with jq -r, which cannot be used: jq-wasm trims what it returns, and with it such a string. */
function withRawStrings(values: string): string {
  return values
    .split('\n')
    .map((line) => (line.startsWith('"') ? JSON.parse(line) : line))
    .join('\n')
}

function withoutName(stderr: string): string {
  return stderr.trim().replace(/^jq: /, '')
}

type Jq = Awaited<ReturnType<typeof loadJq>>

let loaded: Promise<Jq> | undefined

async function runJq(
  input: string,
  filter: string,
  flags: string[],
): Promise<ReturnType<Jq['raw']> | 'exhausted'> {
  loaded ??= import('jq-wasm').then(({ loadJq }) => loadJq())
  const jq = await loaded
  try {
    // A filter may have no end, and WebAssembly that is aborted says so on stderr.
    return withSilentConsole(() => leaveSignalsToSystem(() => jq.raw(input, filter, flags)))
  } catch (failure) {
    if (!(failure instanceof WebAssembly.RuntimeError || failure instanceof RangeError)) throw failure
    // What is left of its memory is of no use.
    loaded = undefined
    return 'exhausted'
  }
}

/** Runs code that writes internal messages to stderr, and hides them. */
function withSilentConsole<T>(work: () => T): T {
  const { error } = console
  console.error = () => {}
  try {
    return work()
  } finally {
    console.error = error
  }
}
