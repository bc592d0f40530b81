import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { startFaultServer } from '../../support/fault-server.ts'
import { historyService, plainReading } from '../../support/history-service.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { fillDisk, mountSmallDisk } from './small-disk.ts'

const stored = Array.from({ length: 3000 }, (_, index) => ({
  id: `m${index}`,
  role: 'user',
  content: `message ${index} ${'with some words '.repeat(40)}`,
  created_at: new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString(),
}))

/** Needs root to mount a disk. */
describe('a mirror on a full disk', function () {
  this.timeout(120_000)
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() => startFaultServer(historyService(plainReading, stored)))
  let disk: string
  let unmount: () => void
  before(() => {
    ;({ path: disk, unmount } = mountSmallDisk(sandbox, '16m'))
  })
  after(() => {
    unmount()
  })

  it('stays usable, and is completed when there is space', async () => {
    const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'key', XDG_DATA_HOME: disk }
    const run = (...args: string[]) => runChatctl(sandbox, ['history', ...args], { env, timeout: 60_000 })
    const free = fillDisk(disk, 1_500_000)
    expectFailure(await run('sync'), 1, 'No space left on the disk', 'To continue, run the same command.')
    const found = await run('search', 'message', '--limit', '5')
    expect(found.exitCode, found.stderr).to.equal(0)
    expect(found.stdout.trim().split('\n')).to.have.lengthOf(5)
    expect(found.stderr).to.include('The mirror is incomplete')
    free()
    expect(JSON.parse((await run('sync', '--json')).stdout).messages).to.equal(3000)
  })
})
