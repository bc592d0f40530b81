import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, startBuilt } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'

/** A service that runs until the end of its test. */
interface Served {
  url: string
  pid: number
  child: ChildProcess
  /** Everything that was written to stdout so far. */
  stdout(): string
  /** Sends it a signal. @returns the exit code */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

describe('service run', () => {
  const sandbox = perTest(createSandbox)
  let data: string
  let running: Served[]
  beforeEach(() => {
    data = join(sandbox.home, 'data')
    running = []
  })
  afterEach(() => {
    for (const { child } of running) if (child.exitCode === null) child.kill('SIGKILL')
  })

  const chatctl = (...args: string[]) => runProgram(sandbox, args)
  const createKey = async (): Promise<{ id: string; key: string }> =>
    JSON.parse(
      (await chatctl('service', 'keys', 'create', '--name', 'test', '--data', data, '--json')).stdout,
    )

  async function serve(...args: string[]): Promise<Served> {
    const child = startBuilt(sandbox, ['service', 'run', '--port', '0', '--data', data, '--json', ...args])
    const closed = once(child, 'close')
    let stdout = ''
    child.stderr?.resume()
    await new Promise<void>((resolve, reject) => {
      child.stdout?.on('data', (chunk) => {
        stdout += chunk
        if (stdout.includes('\n')) resolve()
      })
      child.once('close', () => reject(new Error('the service ended before it was ready')))
    })
    const served: Served = {
      ...JSON.parse(stdout),
      child,
      stdout: () => stdout,
      end: async (signal = 'SIGTERM') => {
        child.kill(signal)
        return (await closed)[0]
      },
    }
    running.push(served)
    return served
  }

  const as = (url: string, key: string) => ({ CHATCTL_BASE_URL: url, CHATCTL_API_KEY: key })

  it('prints one line when it is ready, responds, and exits with code 0 on SIGTERM and SIGINT', async () => {
    const { key } = await createKey()
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const served = await serve()
      expect(JSON.parse(served.stdout())).to.include({ url: served.url, pid: served.child.pid })
      const run = await runProgram(sandbox, ['chat', 'models'], { env: as(served.url, key) })
      expect(run).to.include({ exitCode: 0, stderr: '' })
      expect(await served.end(signal)).to.equal(0)
      expect(served.stdout().split('\n')).to.have.length(2)
      expect(readdirSync(data)).to.deep.equal(['chatctl.db', 'limits.db'])
    }
  })

  const fails = (...args: string[]): Promise<Run> => chatctl('service', 'run', '--port', '0', ...args)

  it('exits with code 1 if the data directory is a file', async () => {
    const file = join(sandbox.home, 'file')
    writeFileSync(file, 'x')
    for (const directory of [file, join(file, 'inside')]) {
      expectFailure(await fails('--data', directory), 1, `${directory} is not a directory`)
      expectFailure(await chatctl('service', 'keys', 'list', '--data', directory), 1, directory)
      expectFailure(await chatctl('service', 'status', '--data', directory), 1, directory)
    }
    expect(readFileSync(file, 'utf8')).to.equal('x')
  })
})
