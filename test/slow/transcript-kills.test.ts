import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { readTranscript } from '../../src/chat/transcript/read-transcript.ts'
import { deliveryOf } from '../../src/chat/transcript/turn.ts'
import { ChatHandler } from '../support/handlers/chat.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { serveHandler } from '../support/scripted-server.ts'

describe('a process that is killed at any write of a transcript', function () {
  this.timeout(120_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new ChatHandler()))
  const run = (...args: string[]) =>
    runChatctl(sandbox, args, { env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' } })

  for (const flags of [[], ['--system', 'Be brief']])
    it(`leaves a transcript that every command can use: ${flags[0] ?? 'stored by the service'}`, async () => {
      await run('chat', 'send', 'first ibex', ...flags)
      await run('chat', 'send', '-c', 'second ibex')
      const directory = join(sandbox.home, '.local', 'share', 'chatctl', 'sessions')
      const path = join(directory, readdirSync(directory)[0] ?? '')
      const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
      for (let whole = 1; whole <= lines.length; whole++)
        for (const part of ['', lines[whole]?.slice(0, 20) ?? '']) {
          const before = lines.slice(0, whole).map((line) => `${line}\n`)
          writeFileSync(path, before.join('') + part)
          const { turns } = readTranscript(path)
          for (const turn of turns) {
            const known = flags.length > 0 ? 'local' : turn.events.length > 0 ? 'stored' : 'unknown'
            expect(deliveryOf(turn), `${whole} ${part}`).to.equal(known)
          }
          const found = await run('history', 'search', 'ibex', '--role', 'user', '--json')
          expect(JSON.parse(found.stdout)).to.have.lengthOf(turns.length)
          expect(await run('chat', 'sessions')).to.include({ exitCode: 0 })
          expect(await run('history', 'export', '--local')).to.include({ exitCode: 0 })
          const next = await run('chat', 'send', '-c', 'And?', '--dry-run')
          const canContinue = turns.some(({ events }) => events.length > 0 || flags.length > 0)
          expect(next.exitCode, next.stderr).to.equal(canContinue ? 0 : 2)
        }
    })
})
