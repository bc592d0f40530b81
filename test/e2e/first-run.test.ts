import { join } from 'node:path'
import { expect } from 'chai'
import { perSuite } from '../support/lifetime.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'

describe('the first run of chatctl', () => {
  const sandbox = perSuite(createSandbox)

  it('replies from the embedded service, prints its data directory once, and stores the conversation', async () => {
    const first = await runProgram(sandbox, ['chat', 'send', 'Hello'])
    expect(first.exitCode).to.equal(0)
    expect(first.stdout).to.match(/not an AI.*\n$/)
    expect(first.stderr).to.contain('embedded service')
    expect(first.stderr).to.contain(join(sandbox.home, '.local', 'share', 'chatctl'))

    const second = await runProgram(sandbox, ['chat', 'send', '--continue', 'Again'])
    expect(second.exitCode).to.equal(0)
    expect(second.stderr).to.match(/^Continuing "Hello" \(1 turn, \d+ s ago\)\n$/)
  })
})
