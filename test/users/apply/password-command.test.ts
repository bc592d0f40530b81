import { expect } from 'chai'
import { systemClock } from '../../../src/system/clock.ts'
import { readCommand } from '../../../src/system/split-command.ts'
import { runPasswordCommand } from '../../../src/users/apply/password-source.ts'
import { failureOf } from '../../client/capture.ts'

const options = {
  env: process.env,
  cwd: process.cwd(),
  clock: systemClock,
  signal: new AbortController().signal,
}

/** Runs a script of sh as the password command. */
const run = (script: string, more: Partial<typeof options> = {}) =>
  runPasswordCommand(['sh', '-c', script], 'ada@example.com', { ...options, ...more })

const print = (text: string) => `printf %s '${text}'`

describe('a password command', () => {
  it('receives the email, and its first line is the password', async () => {
    expect(await run('echo "$CHATCTL_EMAIL 1"; echo second')).to.equal('ada@example.com 1')
    expect(await run(print(' spaces \r\n'))).to.equal(' spaces ')
  })

  it('fails if it exits with another code than 0, prints nothing, or does not exist', async () => {
    for (const [script, reason] of [
      ['exit 3', 'exited with code 3'],
      [print('\nsecond'), 'wrote no password in its first line'],
      ['kill $$', 'failed: SIGTERM'],
    ] as const) {
      const failure = await failureOf(run(script))
      expect(failure.message).to.equal(`The password command for "ada@example.com" ${reason}`)
      expect(failure.kind).to.equal('incomplete')
    }
    const failure = await failureOf(runPasswordCommand(['no-such-program'], 'ada@example.com', options))
    expect(failure.message).to.match(
      / failed: cannot start "no-such-program": no such file or directory \(ENOENT\)$/,
    )
  })

  it('is killed after 64 KiB, after a minute, and by a signal', async () => {
    const endless = 'exec sleep 600'
    const flood = await failureOf(run(`${print('x'.repeat(70_000))};${endless}`))
    expect(flood.message).to.match(/ wrote more than 64 KiB$/)
    const clock = { ...systemClock, sleep: async () => {} }
    expect((await failureOf(run(endless, { clock }))).message).to.match(/ did not end within 60 s$/)
    const controller = new AbortController()
    const running = run(endless, { signal: controller.signal })
    const reason = new Error('interrupted')
    setImmediate(() => controller.abort(reason))
    expect(await running.catch((error: unknown) => error)).to.equal(reason)
  })

  it('is refused if its words cannot be read', () => {
    for (const line of ['', "pass 'ada", '""'])
      expect(() => readCommand(line, 'password command'), line).to.throw('Invalid password command')
    expect(readCommand('pass show "a b"', 'password command')).to.deep.equal(['pass', 'show', 'a b'])
  })
})
