import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { files } from '../../docs/example-tables.ts'
import type { Typist } from '../../docs/example-world.ts'
import { binary, collectOutput } from '../../support/run-chatctl.ts'
import { runService } from '../../support/run-service.ts'

const browser = join(import.meta.dirname, 'browser-program.ts')

/** Types each example into a shell that finds the built program. */
export const typeInShell: Typist = {
  prepare({ home }) {
    const bin = join(home, 'bin')
    mkdirSync(bin)
    for (const [name, line] of Object.entries({
      chatctl: `exec '${process.execPath}' '${binary}' "$@"`,
      // The other branch has the same file.
      git: 'case $1 in show) cat users.state.json ;; *) echo "+ one more line" ;; esac',
      less: 'exec cat',
    })) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`)
      chmodSync(join(bin, name), 0o755)
    }
  },
  knows: () => true,
  type({ home, env }, text, until) {
    const isServer = until === 'first output'
    const words = ['-c', isServer ? `exec ${text}` : `set -eo pipefail\n${text}`]
    const child = spawn('bash', words, {
      env: {
        ...env,
        PATH: [join(home, 'bin'), env['PATH']].join(delimiter),
        BROWSER: `'${process.execPath}' '${browser}' ada@example.com ${files['password.txt']?.trim()}`,
      },
      cwd: home,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const run = collectOutput(child)
    if (isServer) child.stdout.on('data', () => child.kill('SIGTERM'))
    const timer = setTimeout(() => child.kill('SIGKILL'), 40_000)
    return new Promise((done) => {
      child.once('close', (exitCode) => {
        clearTimeout(timer)
        done({ ...run, exitCode })
      })
    })
  },
  startService: (sandbox, port) => runService(sandbox, ['--port', `${port}`]),
}
