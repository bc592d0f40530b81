import { once } from 'node:events'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Run, startChatctl } from '../support/run-chatctl.ts'
import { serveInProcess } from '../support/run-service.ts'
import { agreeInBrowser } from './agree-in-browser.ts'
import { files } from './example-tables.ts'
import type { Typist } from './example-world.ts'

/** One chatctl command: plain and quoted words, and optional files for stdin and stdout. */
const oneCommand =
  /^chatctl(?<words>(?: +(?:[^\s'"|<>&;$`\\*~#()]|'[^']*'|"[^"$`\\]*")+)*)(?: < (?<from>\S+))?(?: (?<to>>>?) (?<file>[\w.-]+))?$/

/** Runs chatctl commands in this process. Tests in test/slow run the lines that need a shell. */
export const typeInProcess: Typist = {
  knows: (text) => oneCommand.test(text),
  async type(sandbox, text, until) {
    const typed = oneCommand.exec(text)?.groups
    if (!typed) throw new Error(`this needs a shell: ${text}`)
    const { words = '', from, to, file = '' } = typed
    const inHome = (name: string) => join(sandbox.home, name)
    const running = startChatctl(sandbox, wordsOf(words), { timeout: 40_000, host: { openBrowser: agree } })
    running.stdin.end(from === undefined ? '' : readFileSync(inHome(from)))
    if (until === 'first output') {
      await Promise.race([once(running.stdout, 'data'), running.ended])
      running.interrupt()
    }
    const run: Run = await running.ended
    if (to === '>') writeFileSync(inHome(file), run.stdout)
    if (to === '>>') appendFileSync(inHome(file), run.stdout)
    return run
  },
  startService: (sandbox, port) => serveInProcess(sandbox, ['--port', `${port}`]),
}

function wordsOf(line: string): string[] {
  const words = line.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? []
  return words.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'))
}

async function agree(url: string): Promise<boolean> {
  await agreeInBrowser('ada@example.com', files['password.txt']?.trim() ?? '', url)
  return true
}
