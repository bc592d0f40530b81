import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { binary } from './run-chatctl.ts'
import type { Sandbox } from './sandbox.ts'

/**
 * Installs a `chatctl` on a PATH of the sandbox. It completes like the built program. Any other call
 * prints its arguments: `<settings><set><a=b>`.
 *
 * @returns the environment with this PATH
 */
export function plantCallTeller(sandbox: Sandbox): NodeJS.ProcessEnv {
  const directory = join(sandbox.home, 'bin')
  mkdirSync(directory, { recursive: true })
  const path = join(directory, 'chatctl')
  writeFileSync(
    path,
    `#!/bin/sh
case "$1" in complete|autocomplete) exec '${process.execPath}' '${binary}' "$@" ;; esac
printf '<%s>' "$@"
echo
`,
  )
  chmodSync(path, 0o755)
  return { ...sandbox.env, PATH: `${directory}:${process.env['PATH']}` }
}
