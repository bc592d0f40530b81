import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

export const program = resolve(import.meta.dirname, '../../bin/run.js')

/** Creates an API key without an hourly limit. */
export function makeKey(where: readonly string[]): string {
  const args = [
    'service',
    'keys',
    'create',
    '--name',
    'bench',
    '--tier',
    'enterprise',
    '--jq',
    '.key',
    ...where,
  ]
  return execFileSync(process.execPath, [program, ...args], { encoding: 'utf8' }).trim()
}
