import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasPrompt } from '../test/programs/chat/talk-session.ts'
import { Tmux } from '../test/programs/tmux.ts'
import {
  sendDelta,
  sendDone,
  startEvents,
  withModelServer,
} from '../test/service/replies/scripted-model-server.ts'
import { binary } from '../test/support/run-chatctl.ts'
import { runProgram } from '../test/support/run-program.ts'
import { makeKey, runService } from '../test/support/run-service.ts'
import { createSandbox } from '../test/support/sandbox.ts'
import { addDarkMode, drawTerminal, light, type Screen } from './terminal-picture.ts'

/**
 * `npm run picture` draws the picture of the README. It records the built program in tmux, with the
 * embedded service and a model server that sends the replies below.
 */

const columns = 88

const conversation: readonly [question: string, answer: string][] = [
  [
    'The query for open orders has become slow. What helps?',
    `A *partial index* holds **only the rows you ask for**, so it stays small:

\`\`\`sql
-- Most orders have shipped long ago.
CREATE INDEX orders_open ON orders (created_at)
  WHERE shipped_at IS NULL;
\`\`\`
`,
  ],
]

const settings = 'theme:\n  mode: dark\nlimits:\n  max_tokens: 8192\n'

const label =
  'A terminal: chatctl settings diff shows two changes, then chatctl chat answers a question about a slow query with SQL.'

async function playSession(): Promise<Screen> {
  const sandbox = createSandbox()
  const { home } = sandbox
  mkdirSync(join(home, 'bin'))
  writeFileSync(join(home, 'bin/chatctl'), `#!/bin/sh\nexec '${process.execPath}' '${binary}' "$@"\n`)
  chmodSync(join(home, 'bin/chatctl'), 0o755)
  writeFileSync(join(home, 'settings.yaml'), settings)
  let answered = 0
  const complete = async (response: Parameters<typeof startEvents>[0]) => {
    const [, answer = ''] = conversation[answered++] ?? []
    startEvents(response)
    await sleep(300)
    for (const piece of answer.match(/[\s\S]{1,12}/g) ?? []) {
      sendDelta(response, piece)
      await sleep(25)
    }
    sendDelta(response, '', 'stop')
    sendDone(response)
  }
  try {
    return await withModelServer(complete, async ({ url }) => {
      const service = await runService(sandbox, ['--port', '8787', '--model-server', url])
      try {
        const flags = ['--profile', 'work', '--base-url', service.url, '--with-api-key', '--insecure-storage']
        await runProgram(sandbox, ['auth', 'login', ...flags], { stdin: await makeKey(sandbox) })
        return await playTerminal(sandbox)
      } finally {
        await service.stop()
      }
    })
  } finally {
    sandbox.remove()
  }
}

async function playTerminal(sandbox: ReturnType<typeof createSandbox>): Promise<Screen> {
  const path = [join(sandbox.home, 'bin'), sandbox.env['PATH']].join(delimiter)
  const env = { PATH: path, PS1: '\u001b[32m$\u001b[39m ' }
  const terminal = await Tmux.run(sandbox, ['sh', '-i'], { columns, rows: 30, env })
  try {
    await terminal.waitFor(/^\$$/m)
    await terminal.say('chatctl settings diff settings.yaml')
    await terminal.waitFor(/differ\.\n+\$$/)
    await terminal.say('chatctl chat')
    await terminal.waitUntil(hasPrompt, 'the prompt')
    for (const [index, [question]] of conversation.entries()) {
      await terminal.say(question)
      await terminal.waitUntil(
        (screen) => screen.split('· total').length > index + 1 && hasPrompt(screen),
        'the reply',
      )
    }
    await terminal.settle()
    return { text: await terminal.styledScreen(), columns, cursor: await terminal.cursor() }
  } finally {
    await terminal.close()
  }
}

const docs = resolve(import.meta.dirname, '../docs')
const screen = await playSession()
writeFileSync(join(docs, 'session.svg'), addDarkMode(drawTerminal(screen, light, label)))
