import type { loadJq } from 'jq-wasm'
import { Failure } from '../../failure.ts'
import { leaveSignalsToSystem } from '../../system/leave-signals-to-system.ts'

/** jq's exit code for a filter that it cannot read (jq manual, "Invoking jq"). */
const compileError = 3

/**
 * Reads the filter without running it on anything of worth, so that a mistake shows before a
 * request leaves.
 *
 * @throws Failure `usage` with jq's own words
 */
export async function checkFilter(filter: string): Promise<void> {
  const { exitCode, stderr } = await runJq(null, filter, [])
  if (exitCode !== compileError) return
  throw new Failure('usage', `--jq: ${stderr.trim().replace(/^jq: /, '')}`, {
    hint: 'The language: https://jqlang.org/manual/',
  })
}

/**
 * Runs real jq, compiled to WebAssembly and loaded only here; strings come out raw.
 *
 * @throws Failure `unusable_answer` with jq's own words when the filter fails on this body
 */
export async function filterWithJq(body: unknown, filter: string, { compact = false } = {}): Promise<string> {
  const flags = compact ? ['-r', '-c'] : ['-r']
  const { stdout, stderr, exitCode } = await runJq(JSON.stringify(body), filter, flags)
  if (exitCode !== 0) {
    const words = stderr.trim().replace(/^jq: /, '')
    // Not `usage`: by now the request was made, and its answer cannot be shown as asked.
    throw new Failure('unusable_answer', `--jq cannot filter the answer: ${words}`, {
      hint: 'What was asked of the service has been done; only its answer is not shown.',
    })
  }
  return stdout === '' || stdout.endsWith('\n') ? stdout : `${stdout}\n`
}

type Jq = Awaited<ReturnType<typeof loadJq>>

let loaded: Promise<Jq> | undefined

async function runJq(input: string | null, filter: string, flags: string[]): Promise<ReturnType<Jq['raw']>> {
  loaded ??= import('jq-wasm').then(({ loadJq }) => loadJq())
  const jq = await loaded
  // A filter may have no end.
  return leaveSignalsToSystem(() => jq.raw(input, filter, flags))
}
