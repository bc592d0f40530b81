import { spawn } from 'node:child_process'
import { existsSync, openSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { createJobPool } from '../../support/job-pool.ts'
import { binary, type RunOptions } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { describeSample, takeSample } from '../../support/take-sample.ts'

/**
 * A width in the environment makes the program create its help, instead of printing the help that the build
 * generated.
 */
const live = { OCLIF_COLUMNS: '80' }
const written = readdirSync(resolve(import.meta.dirname, '../../../dist/help'))
const lines = written.map((file) => file.split('.').slice(1, -1))

describeSample('generated help', 6, () => {
  const sandboxes: Sandbox[] = []
  const inTurn = createJobPool(3)
  /**
   * Each run has a separate cache directory. The program stores compiled code there, and generated help does
   * not.
   */
  const run = (words: readonly string[], options: RunOptions = {}, ownCache = true) =>
    inTurn(async () => {
      const sandbox = createSandbox({ ownCache })
      sandboxes.push(sandbox)
      const { exitCode, stdout, stderr } = await runProgram(sandbox, words, options)
      return { exitCode, stdout, stderr, isLive: existsSync(join(sandbox.home, '.cache')) }
    })
  after(() => {
    for (const sandbox of sandboxes) sandbox.remove()
  })

  const { sample, words: which } = takeSample(lines, 5)
  it(`exists for every command and topic, and is identical to the help of the program (${which})`, async () => {
    expect(lines.length).to.be.above(60)
    await Promise.all(
      sample.map(async (words) => {
        const [quick, other, slow] = await Promise.all([
          run([...words, '--help']),
          run(['help', ...words]),
          run([...words, '--help'], { env: live }, false),
        ])
        expect(slow, words.join(' ')).to.include({ exitCode: 0, stderr: '' })
        for (const written of [quick, other])
          expect(written, words.join(' ')).to.deep.equal({ ...slow, isLive: false })
      }),
    )
  })

  for (const words of [[], ['help'], ['-h'], ['help', 'chat', 'send'], ['users', 'permissions', '-h']]) {
    it(`is printed by chatctl ${words.join(' ')}`, async () => {
      const [quick, slow] = await Promise.all([run(words), run(words, { env: live })])
      expect(quick).to.deep.equal({ ...slow, isLive: false })
      expect(quick.exitCode).to.equal(0)
    })
  }

  for (const words of [
    ['help', 'help'],
    ['chatctl', '--help'],
    ['help', 'chatctl'],
    ['help', '--json'],
    ['chat', 'send', '--json', '--help'],
    ['chat', 'sned', '--help'],
    ['../help/chat', '--help'],
  ]) {
    it(`is not printed by chatctl ${words.join(' ')}`, async () => {
      const [usual, slow] = await Promise.all([run(words), run(words, { env: live })])
      expect(usual).to.deep.equal(slow)
      expect(usual.isLive).to.equal(true)
    })
  }

  for (const env of [{ FORCE_COLOR: '1' }, { OCLIF_COLUMNS: '40' }]) {
    it(`is not printed with ${Object.entries(env).join()}`, async () => {
      const [usual, other] = await Promise.all([run(['chat', '--help']), run(['chat', '--help'], { env })])
      expect(other).to.include({ exitCode: 0, isLive: true })
      expect(other.stdout).not.to.equal(usual.stdout)
    })
  }

  it('exits with code 0 if no reader is left', async () => {
    const line = `{ sleep 0.5; '${process.execPath}' '${binary}' --help; echo $? >&2; } | true`
    expect(await shell(line, 'ignore')).to.equal('0\n')
  })

  it('exits with code 1 if the device is full', async () => {
    const line = `'${process.execPath}' '${binary}' --help; echo $? >&2`
    expect(await shell(line, openSync('/dev/full', 'w'))).to.match(
      /^Error: Cannot write to stdout: .*\n(Hint: .*\n)?1\n$/,
    )
  })

  /** @returns what it writes to stderr */
  async function shell(line: string, stdout: number | 'ignore'): Promise<string> {
    const sandbox = createSandbox()
    sandboxes.push(sandbox)
    const child = spawn('sh', ['-c', line], { env: sandbox.env, stdio: ['ignore', stdout, 'pipe'] })
    let said = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      said += chunk
    })
    await new Promise((resolve) => child.once('close', resolve))
    return said
  }
})
