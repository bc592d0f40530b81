import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { formatEntry } from '../../../src/users/state/state-entry.ts'
import { perSuite } from '../../support/lifetime.ts'
import { watchPeakMemory } from '../../support/peak-memory.ts'
import { startBuilt } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { takesAll } from '../../support/take-sample.ts'
import { UsersServer } from '../../support/users-server.ts'

describe('the memory of a command that writes the state of users', function () {
  this.timeout(300_000)
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() => UsersServer.start())
  before(function () {
    // Memory is read from /proc, and the test takes long.
    if (!takesAll || process.platform !== 'linux') this.skip()
  })

  /** Writes a state file with this number of users. */
  function write(path: string, users: number): void {
    const file = openSync(path, 'w')
    writeSync(file, `{"format":"chatctl-users-state","v":1,"service":"${server.url}/","serial":1,"users":[\n`)
    for (let from = 0; from < users; from += 10_000) {
      const lines = Array.from({ length: Math.min(10_000, users - from) }, (_, index) =>
        formatEntry({
          email: `user-${String(from + index).padStart(7, '0')}@example.com`,
          id: `usr_${from + index}`,
          hashes: { name: 'AAAAAAAAAAA', permissions: 'AAAAAAAAAAA', role: 'AAAAAAAAAAA' },
        }),
      )
      writeSync(file, `${lines.join(',\n')}${from + 10_000 < users ? ',' : ''}\n`)
    }
    writeSync(file, ']}\n')
    closeSync(file)
  }

  async function peakOf(users: number): Promise<number> {
    const path = join(sandbox.home, `${users}.state.json`)
    write(path, users)
    const { size } = statSync(path)
    const email = `new-${users}@example.com`
    const child = startBuilt(
      sandbox,
      ['users', 'adopt', `${email}=${server.add({ email })}`, '--state', path],
      { env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' } },
    )
    child.stdin?.end()
    child.stdout?.resume()
    child.stderr?.resume()
    const { exitCode, peak } = await watchPeakMemory(child)
    expect(exitCode).to.equal(0)
    expect(statSync(path).size).to.be.above(size)
    return peak
  }

  it('is at most 1.5 times as large with 1,000,000 users as with 10,000', async () => {
    const [few, many] = [await peakOf(10_000), await peakOf(1_000_000)]
    expect(few).to.be.above(0)
    expect(many / few, `${Math.round(few / 2 ** 20)} MiB and ${Math.round(many / 2 ** 20)} MiB`).to.be.below(
      1.5,
    )
  })
})
