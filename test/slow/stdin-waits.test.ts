import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { startBuilt } from '../support/run-chatctl.ts'
import { servedMessages } from '../support/served-messages.ts'

describe('a text on stdin that keeps its reader waiting', function () {
  this.timeout(60_000)
  const { sandbox, env, sent } = servedMessages()
  const children: ChildProcess[] = []
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })

  it('that stays away for two seconds is asked for in one line, once', async () => {
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

  it('can be given up with Ctrl-C while it is awaited', async () => {
    const child = startBuilt(sandbox, ['chat', 'send'], { env: env() })
    children.push(child)
    const closed = new Promise((resolve) => child.once('close', resolve))
    await sleep(1_000)
    child.kill('SIGINT')
    expect(await closed).to.equal(130)
    expect(sent()).to.deep.equal([])
  })
})
