import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { compactLedger } from '../../../src/ledger/rewrite-ledger.ts'
import { perTest } from '../../support/lifetime.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('a ledger with live writers, kills, torn lines, and compaction', function () {
  this.timeout(120_000)
  const sandbox = perTest(createSandbox)

  it('has every change that was on disk, and never reports a change twice', async () => {
    const ledger = new Ledger(join(sandbox.home, 'ledger.jsonl'))
    const written: string[] = []
    let compactions = 0
    for (let moment = 0; moment < 8; moment++) {
      const children = ['a', 'b'].map((name): ChildProcess => {
        const script = new URL('write-changes.ts', import.meta.url)
        const child = fork(script, [ledger.path, `${name}${moment}`], {
          stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
        })
        let text = ''
        child.stdout?.setEncoding('utf8').on('data', (data) => {
          text += data
        })
        child.once('close', () => written.push(...text.split('\n').slice(0, -1)))
        return child
      })
      await Promise.all(children.map(({ stdout }) => stdout && once(stdout, 'data')))
      for (let round = 0; round < 10 + moment; round++) {
        await sleep(40)
        if (existsSync(ledger.path)) appendFileSync(ledger.path, '{"torn')
        compactLedger(ledger, 1)
      }
      const closed = Promise.all(children.map((child) => once(child, 'close')))
      for (const child of children) child.kill('SIGKILL')
      await closed
      // The system has released the locks.
      compactLedger(ledger, 1)
      if (existsSync(ledger.archive)) compactions++
      const needed = written.filter((path) => path.endsWith('/0'))
      const found = [...new Ledger(ledger.path).entries()].map(({ path }) => path)
      expect(new Set(found)).to.have.property('size', found.length)
      expect(found).to.include.members(needed)
    }
    expect(written).not.to.have.lengthOf(0)
    expect(compactions).to.be.above(0)
  })
})
