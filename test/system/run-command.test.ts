import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../src/system/clock.ts'
import { type CommandOptions, runCommand } from '../../src/system/run-command.ts'
import { perTest } from '../support/lifetime.ts'
import { createSandbox } from '../support/sandbox.ts'
import { until } from '../support/until.ts'

const options: CommandOptions = {
  env: process.env,
  cwd: undefined,
  clock: systemClock,
  signal: new AbortController().signal,
  maxDuration: 60_000,
}

describe('a command that chatctl runs', () => {
  const sandbox = perTest(createSandbox)

  /** Runs a script of sh. */
  const run = (script: string, more: Partial<CommandOptions> = {}) =>
    runCommand(['sh', '-c', script], { ...options, cwd: sandbox.home, ...more })

  it('gives its stdout, and its messages apart', async () => {
    let messages = ''
    const onMessage = (text: string) => {
      messages += text
    }
    const result = await run('echo out; echo über >&2', { onMessage })
    expect(result).to.deep.equal({ output: Buffer.from('out\n') })
    expect(messages).to.equal('über\n')
  })

  it('has an empty stdin, the environment, and the working directory of the caller', async () => {
    await run('{ cat; printf %s "$MINE"; } > here', { env: { ...process.env, MINE: 'yes' } })
    expect(readFileSync(join(sandbox.home, 'here'), 'utf8')).to.equal('yes')
  })

  it('is killed together with the processes that it has started', async function () {
    if (process.platform === 'win32') return this.skip()
    const file = join(sandbox.home, 'pid')
    const controller = new AbortController()
    const running = run('sleep 600 & echo $! > pid; wait', { signal: controller.signal }).catch(
      (error: unknown) => error,
    )
    await until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'))
    const pid = Number(readFileSync(file, 'utf8'))
    const reason = new Error('interrupted')
    controller.abort(reason)
    expect(await running).to.equal(reason)
    await until(() => !isRunning(pid))
  })

  for (const { kept, redirected } of [
    // As ssh does with ControlPersist.
    { kept: 'stderr', redirected: '</dev/null >/dev/null' },
    { kept: 'stdout', redirected: '</dev/null' },
  ]) {
    it(`gives what it wrote, although a process that it has started keeps its ${kept} open`, async function () {
      if (process.platform === 'win32') return this.skip()
      const script = `sleep 600 ${redirected} & echo $!`
      const result = await run(script, { onMessage: () => {}, maxDuration: 20_000 })
      expect(result).to.have.property('output')
      const pid = Number('output' in result && result.output)
      expect(isRunning(pid)).to.equal(true)
      process.kill(pid)
    })
  }

  it('says why it did not start, also if the system refuses its arguments', async () => {
    const none = await runCommand(['/nowhere/op'], options)
    expect(none).to.have.property('problem').that.includes('cannot start "/nowhere/op": no such file')
    if (process.platform === 'win32') return
    const long = await runCommand(['sh', 'x'.repeat(4_000_000)], options)
    expect(long).to.have.property('problem').that.includes('argument list too long (E2BIG)')
  })

  it('can be killed when the process of the caller ends', async () => {
    const stops: (() => void)[] = []
    let isOver = false
    const untilEnded: CommandOptions['untilEnded'] = (stop) => {
      stops.push(stop)
      return () => {
        isOver = true
      }
    }
    const running = run('exec sleep 600', { untilEnded })
    await until(() => stops.length > 0)
    stops[0]?.()
    expect(await running).to.deep.equal({ problem: 'failed: SIGKILL' })
    expect(isOver).to.equal(true)
  })
})

/** Not as a zombie, whose parent has not noticed its end. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    const status = `/proc/${pid}/stat`
    return !existsSync(status) || !/\) Z /.test(readFileSync(status, 'utf8'))
  } catch {
    return false
  }
}
