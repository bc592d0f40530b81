import { spawnSync } from 'node:child_process'
import { expect } from 'chai'

const source = new URL('../../src/boot/end-process.ts', import.meta.url).href

/** Runs these lines after a cleanup was registered, and expects that it ran once. */
function expectCleanUp(lines: string, exitCode: number): void {
  const script = `
    import { writeSync } from 'node:fs'
    import { endProcess, onExit, untilEnded } from '${source}'
    onExit((exitCode) => writeSync(1, 'cleaned up for ' + exitCode))
    ${lines}`
  const args = ['--input-type=module', '-e', script]
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect({ status, stdout }).to.deep.equal({ status: exitCode, stdout: `cleaned up for ${exitCode}` })
}

describe('the end of the process', () => {
  it('runs the cleanup once, unless it was withdrawn', () =>
    expectCleanUp(`onExit(() => writeSync(1, 'not withdrawn'))()\nendProcess(3)`, 3))

  it('runs the cleanup if another program replaces this one', () =>
    expectCleanUp('untilEnded()\nendProcess(3)', 3))

  it('is that of Node.js if the system cannot replace the process', () =>
    expectCleanUp('process.execve = () => { throw new Error() }\nuntilEnded()\nendProcess(3)', 3))

  it('runs the cleanup after an uncaught exception', () =>
    expectCleanUp('queueMicrotask(() => { throw new Error() })', 1))
})
