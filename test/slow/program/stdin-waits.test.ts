import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { startBuilt } from '../../support/run-chatctl.ts'
import { servedMessages } from '../../support/served-messages.ts'

describe('chat send while stdin is open and empty', () => {
  const { sandbox, env, sent } = servedMessages()
  const children: ChildProcess[] = []
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })

  it('prints one notice after two seconds, or none with --quiet', async () => {
    for (const [flags, line] of [
      [[], 'Waiting for the text on stdin…\n'],
      [['--json'], '{"notice":{"message":"Waiting for the text on stdin…"}}\n'],
      [['--quiet'], ''],
    ] as const) {
      const child = startBuilt(sandbox, ['chat', 'send', ...flags], { env: env() })
      children.push(child)
      let stderr = ''
      child.stderr?.on('data', (chunk) => {
        stderr += chunk
      })
      const closed = new Promise((resolve) => child.once('close', resolve))
      await sleep(4_500)
      expect(stderr).to.equal(line)
      child.stdin?.end('late')
      expect(await closed).to.equal(0)
      expect(stderr).to.equal(line)
    }
    expect(sent()).to.deep.equal(['late', 'late', 'late'])
  })
})
