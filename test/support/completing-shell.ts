import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { binary } from './run-chatctl.ts'
import type { Sandbox } from './sandbox.ts'

/**
 * Puts a `chatctl` onto a PATH of the sandbox that completes as the built program does, and says with
 * which words it was called otherwise: `<settings><set><a=b>`.
 *
 * @returns the environment in which a shell finds it
 */
export function plantCallTeller(sandbox: Sandbox): NodeJS.ProcessEnv {
  const folder = join(sandbox.home, 'bin')
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'chatctl')
  writeFileSync(
    path,
    `#!/bin/sh
case "$1" in complete|autocomplete) exec '${process.execPath}' '${binary}' "$@" ;; esac
printf '<%s>' "$@"
echo
`,
  )
  chmodSync(path, 0o755)
  return { ...sandbox.env, PATH: `${folder}:${process.env['PATH']}` }
}
