import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { startBuilt } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'
import { programsLeft, programsOf } from '../timed-run.ts'
import { startSecretService } from './secret-service.ts'
import { browserSignIn } from './sign-in-with-keychain.ts'

/** A second process waits for the dialog, in a separate process group, so chatctl must end it. */
describeSample('a run that is ended while the keychain shows a dialog', 1, () => {
  const sandbox = perTest(createSandbox)
  const keyring = perTest(() => startSecretService(sandbox, 'unanswered'))
  const parties = perTest(() => browserSignIn(sandbox, keyring))

  /** Starts a command, sends the signals when the second process runs, and returns the exit code. */
  async function end(args: readonly string[], signals: readonly NodeJS.Signals[]): Promise<number | null> {
    const child = startBuilt(sandbox, args, { env: keyring.env })
    child.stdout?.resume()
    child.stderr?.resume()
    const closed = once(child, 'close')
    while (!programsOf(sandbox).some((line) => /run\.js *$/.test(line))) {
      expect(child.exitCode, 'it waits').to.equal(null)
      await sleep(20)
    }
    // Time to open the dialog.
    await sleep(500)
    for (const signal of signals) {
      child.kill(signal)
      await sleep(20)
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
    const [exitCode] = await closed
    clearTimeout(timer)
    expect(await programsLeft(sandbox)).to.deep.equal([])
    return exitCode
  }

  for (const [signals, exitCode] of [
    [['SIGINT', 'SIGINT'], 130],
    [['SIGHUP'], 129],
    [['SIGTERM'], 143],
  ] as const) {
    it(`leaves no process of auth logout after ${signals.join(' and ')}: exit ${exitCode}`, async () => {
      keyring.lock()
      expect(await end(['auth', 'logout', '-p', 'work'], signals)).to.equal(exitCode)
    })

    it(`leaves no process that stores a renewed token after ${signals[0]} twice: exit ${exitCode}`, async () => {
      parties.lockAtRenewal()
      expect(await end(['chat', 'models', '-p', 'work'], [signals[0], signals[0]])).to.equal(exitCode)
      expect(parties.server.refreshes()).to.have.length(1)
    })
  }

  it('is visible to this test as long as it waits', async () => {
    keyring.lock()
    const logout = runProgram(sandbox, ['auth', 'logout', '-p', 'work'], { env: keyring.env, timeout: 3000 })
    expect(await programsLeft(sandbox)).not.to.deep.equal([])
    await logout
  })
})
