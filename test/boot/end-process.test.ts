import { spawnSync } from 'node:child_process'
import { expect } from 'chai'

const source = new URL('../../src/boot/end-process.ts', import.meta.url).href

/** Runs lines of a module in a process of their own. */
function runScript(lines: string) {
  const script = `import { endProcess, onExit, untilEnded } from '${source}'\n${lines}`
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  })
  return { status, stdout }
}

const cleanUp = `
import { writeSync } from 'node:fs'
const withdraw = onExit((exitCode) => writeSync(1, 'cleaned up for ' + exitCode))
`

describe('the end of the process', () => {
  it('cleans up once', () => {
    expect(runScript(`${cleanUp}endProcess(3)`)).to.deep.equal({ status: 3, stdout: 'cleaned up for 3' })
  })

  it('cleans up where another program takes the place of this one', () => {
    expect(runScript(`${cleanUp}untilEnded()\nendProcess(3)`)).to.deep.equal({
      status: 3,
      stdout: 'cleaned up for 3',
    })
  })

  it('cleans up after an exception that nobody caught', () => {
    expect(runScript(`${cleanUp}queueMicrotask(() => { throw new Error() })`)).to.deep.equal({
      status: 1,
      stdout: 'cleaned up for 1',
    })
  })

  it('does not clean up what was withdrawn', () => {
    expect(runScript(`${cleanUp}withdraw()\nendProcess(3)`)).to.deep.equal({ status: 3, stdout: '' })
  })
})
