import type { loadJq } from 'jq-wasm'
import { Failure } from '../../contract/failure.ts'
import { leaveSignalsToSystem } from '../../system/leave-signals-to-system.ts'

/** jq's exit code for a filter that it cannot read (jq manual, "Invoking jq"). */
const compileError = 3

/** Compiles the filter, so that a mistake shows before a request leaves. @throws Failure `usage` with jq's own words */
export async function checkFilter(filter: string): Promise<void> {
  // Of no input it has nothing to run on.
  const { exitCode, stderr } = await runJq('', filter, [])
  if (exitCode !== compileError) return
  throw new Failure('usage', `--jq: ${withoutName(stderr)}`, {
    hint: 'See the jq manual: https://jqlang.org/manual/',
  })
}

/**
 * Runs real jq, compiled to WebAssembly and loaded only here; strings come out raw.
 * @throws Failure `invalid_response` with jq's own words when the filter fails on this body
 */
export async function filterWithJq(body: unknown, filter: string, { compact = false } = {}): Promise<string> {
  const { exitCode, stdout, stderr } = await runJq(JSON.stringify(body), filter, compact ? ['-c'] : [])
  // Not `usage`, because the request was already sent.
  if (exitCode !== 0) {
    throw new Failure('invalid_response', `--jq cannot filter the response: ${withoutName(stderr)}`, {
      hint: 'The request was sent; only its response is not shown.',
    })
  }
  return stdout === '' ? '' : `${withRawStrings(stdout)}\n`
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

async function runJq(input: string, filter: string, flags: string[]): Promise<ReturnType<Jq['raw']>> {
  loaded ??= import('jq-wasm').then(({ loadJq }) => loadJq())
  const jq = await loaded
  // A filter may have no end.
  return leaveSignalsToSystem(() => jq.raw(input, filter, flags))
}
