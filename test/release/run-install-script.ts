import { chmodSync, existsSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Run } from '../support/run-chatctl.ts'
import { runProgram } from '../support/run-program.ts'
import type { Sandbox } from '../support/sandbox.ts'
import type { ServedRelease } from './served-release.ts'

/** All programs that install.sh may run. */
const tools =
  'awk cat curl getconf grep gzip ldd mkdir mktemp mv openssl rm rmdir sed sh sha256sum shasum ssh-keygen tar tr uname wget'

/** @param shell the program and its arguments */
export function runInstallScript(
  release: ServedRelease,
  sandbox: Sandbox,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  shell: readonly string[] = ['/bin/dash'],
): Promise<Run> {
  const [command = '', first = '', ...others] = [...shell, join(release.directory, 'install.sh')]
  return runProgram(sandbox, [...others, ...args], { env, program: [command, first] })
}

/** A PATH with links to the tools, and with scripts of one line by their names. */
export function makeToolPath(
  sandbox: Sandbox,
  omitted: readonly string[],
  scripts: Record<string, string> = {},
): string {
  const directory = mkdtempSync(join(sandbox.home, 'bin-'))
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(directory, name), 0o755)
  }
  for (const tool of tools.split(' ')) {
    if (omitted.includes(tool) || tool in scripts) continue
    const found = ['/usr/bin', '/bin'].map((place) => join(place, tool)).find((path) => existsSync(path))
    if (found === undefined) throw new Error(`${tool} is missing`)
    symlinkSync(found, join(directory, tool))
  }
  return directory
}
