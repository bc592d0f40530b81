import { Failure } from '../failure.ts'

/** jq's exit code for a filter that it cannot read (jq manual, "Invoking jq"). */
const compileError = 3

/**
 * Reads the filter without running it on anything of worth, so that a mistake shows before a
 * request leaves.
 *
 * @throws Failure `usage` with jq's own words
 */
export async function checkFilter(filter: string): Promise<void> {
  const { raw } = await import('jq-wasm')
  const { exitCode, stderr } = await raw(null, filter)
  if (exitCode === compileError) throw filterFailure(stderr)
}

/**
 * Runs real jq, compiled to WebAssembly and loaded only here; strings come out raw.
 *
 * @throws Failure `usage` with jq's own words when the filter fails on this body
 */
export async function filterWithJq(body: unknown, filter: string, { compact = false } = {}): Promise<string> {
  const { raw } = await import('jq-wasm')
  const { stdout, stderr, exitCode } = await raw(
    JSON.stringify(body),
    filter,
    compact ? ['-r', '-c'] : ['-r'],
  )
  if (exitCode !== 0) throw filterFailure(stderr)
  return stdout === '' || stdout.endsWith('\n') ? stdout : `${stdout}\n`
}

function filterFailure(words: string): Failure {
  return new Failure('usage', `--jq: ${words.trim().replace(/^jq: /, '')}`, {
    hint: 'The language: https://jqlang.org/manual/',
  })
}
