import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { systemClock } from '../../src/system/clock.ts'
import { editOutside } from '../../src/system/external-editor.ts'
import { type CommandOptions, runCommand } from '../../src/system/run-command.ts'
import { readCommand, splitCommand } from '../../src/system/split-command.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { createSandbox } from '../support/sandbox.ts'
import { rejectedFailure } from '../support/thrown-failure.ts'
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
  ])
    it(`gives what it wrote, although a process that it has started keeps its ${kept} open`, async function () {
      if (process.platform === 'win32') return this.skip()
      const script = `sleep 600 ${redirected} & echo $!`
      const result = await run(script, { onMessage: () => {}, maxDuration: 20_000 })
      expect(result).to.have.property('output')
      const pid = Number('output' in result && result.output)
      expect(isRunning(pid)).to.equal(true)
      process.kill(pid)
    })

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

describe('the editor of a text', () => {
  const directory = perTest(makeEmptyDirectory)

  for (const [platform, editor] of [
    ['win32', 'notepad'],
    ['linux', 'vi'],
  ] as const)
    it(`is ${editor} by default on ${platform}`, async function () {
      if (process.platform === 'win32') this.skip()
      writeFileSync(join(directory.path, editor), '#!/bin/sh\nexit 3\n', { mode: 0o700 })
      const editing = { fileName: 'a.md', env: { PATH: directory.path }, cwd: undefined, platform }
      const failure = await rejectedFailure(() =>
        editOutside('text', { ...editing, temporary: directory.path }),
      )
      expect(failure.message).to.equal(`The editor (${editor}) exited with 3. The text is unchanged`)
    })

  it('can be left without saving, as with :cq in vi, and only one that cannot run has a hint', async function () {
    if (process.platform === 'win32') this.skip()
    const edit = (command: string) =>
      rejectedFailure(() =>
        editOutside('text', {
          fileName: 'a.md',
          command,
          env: { PATH: process.env['PATH'] },
          cwd: undefined,
          platform: 'linux',
          temporary: directory.path,
        }),
      )
    const left = await edit('false')
    expect(left).to.include({
      message: 'The editor (false) exited with 1. The text is unchanged',
      hint: undefined,
    })
    expect((await edit('no-such-editor')).hint).to.equal('Set VISUAL or EDITOR to another editor.')
  })

  it('needs a directory, whose variable has another name on Windows', async () => {
    for (const [platform, variable] of [
      ['win32', 'TEMP'],
      ['linux', 'TMPDIR'],
    ] as const) {
      const editing = { fileName: 'a.md', env: {}, cwd: undefined, platform, temporary: '/nowhere/x' }
      const failure = await rejectedFailure(() => editOutside('text', editing))
      expect(failure.hint).to.equal(`Set ${variable} to a directory that you can write to.`)
    }
  })
})

describe('the words of a command line', () => {
  it('are separated by spaces, unless they are quoted', () => {
    expect(splitCommand(`pass show 'a b'"c"\\ d  ""`)).to.deep.equal(['pass', 'show', 'a bc d', ''])
    expect(splitCommand('"a\\"b" "\\x"')).to.deep.equal(['a"b', '\\x'])
    expect(splitCommand(' \t')).to.deep.equal([])
  })

  it('are invalid if a quote is not closed, or after a last backslash', () => {
    for (const line of [`'a`, '"a', 'a\\', '"a\\"']) expect(splitCommand(line), line).to.equal(undefined)
  })

  it('equal the words of a POSIX shell', () => {
    const piece = fc.constantFrom('a', ' ', "'", '"', '\\', '\t', 'é')
    const lines = fc.sample(fc.array(piece, { maxLength: 8 }), { numRuns: 300, seed: 1 })
    const valid = lines.map((pieces) => pieces.join('')).filter((line) => splitCommand(line) !== undefined)
    expect(valid.length).to.be.above(50)
    const script = valid.map((line) => `printf '%s\\0' ${line} END`).join('\n')
    const shown = execFileSync('/bin/sh', { input: script, encoding: 'utf8' })
    const expected = valid.map((line) => [...(splitCommand(line) ?? []), 'END', ''].join('\0')).join('')
    expect(shown).to.equal(expected)
  })
})

describe('a command line that runs without a shell', () => {
  const read = (line: string) => readCommand(line, 'test command')

  it('may be a path with backslashes on Windows', () => {
    const readThere = (line: string) => readCommand(line, 'test command', 'win32')
    expect(readThere('C:\\tools\\op.exe read \\\\server\\key')).to.deep.equal([
      'C:\\tools\\op.exe',
      'read',
      '\\\\server\\key',
    ])
    expect(readThere('"C:\\Program Files\\op\\" x')).to.deep.equal(['C:\\Program Files\\op\\', 'x'])
    for (const line of ['C:op.exe', 'tools\\op.exe', './op'])
      expect(() => readThere(line), line).to.throw('is another program in each directory')
  })

  it('has a program and its arguments, and may quote what a shell would expand', () => {
    expect(read('op read op://vault/item/key?attribute=otp')).to.deep.equal([
      'op',
      'read',
      'op://vault/item/key?attribute=otp',
    ])
    expect(read(`/bin/echo '$HOME|' \\$ a$ "\\$(x)" \\| a~ a#b 5$%`)).to.deep.equal([
      '/bin/echo',
      '$HOME|',
      '$',
      'a$',
      '$(x)',
      '|',
      'a~',
      'a#b',
      '5$%',
    ])
  })

  for (const [line, character] of [
    ['cat key | head -1', '|'],
    ['cat key;ls', ';'],
    ['cat < key', '<'],
    ['cat key > copy', '>'],
    ['a && b', '&'],
    ['cat $(echo key)', '$'],
    ['cat "$KEY"', '$'],
    ['cat `echo key`', '`'],
    ['cat "`echo key`"', '`'],
    ['cat ~/key', '~'],
    ['cat key # mine', '#'],
    ['(cat key)', '('],
  ] as const)
    it(`is refused if it needs a shell: ${line}`, () =>
      expect(() => read(line)).to.throw(`it runs without a shell, but ${character} needs one`))

  it('is refused without a program, or with one below the working directory', () => {
    expect(() => read(' ')).to.throw('it has no program')
    expect(() => read("'' x")).to.throw('it has no program')
    expect(() => read("cat 'key")).to.throw('a quote is not closed')
    for (const program of ['./key', 'bin/key', '../key'])
      expect(() => read(`${program} x`)).to.throw(`"${program}" is another program in each directory`)
  })
})
