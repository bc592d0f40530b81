import { spawnSync } from 'node:child_process'
import { expect } from 'chai'

const source = new URL('../../src/boot/end-process.ts', import.meta.url).href

function runScript(lines: string) {
  const script = `import { endProcess, onExit, untilEnded } from '${source}'\n${lines}`
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  })
  return { status, stdout }
}

const cleanUp = `
import { writeSync } from 'node:fs'
onExit((exitCode) => writeSync(1, 'cleaned up for ' + exitCode))
`

describe('the end of the process', () => {
  it('runs the cleanup once, unless it was withdrawn', () => {
    const withdrawn = `onExit(() => writeSync(1, 'not withdrawn'))()\n`
    expect(runScript(`${cleanUp}${withdrawn}endProcess(3)`)).to.deep.equal({
      status: 3,
      stdout: 'cleaned up for 3',
    })
  })

  it('runs the cleanup if another program replaces this one', () =>
    expect(runScript(`${cleanUp}untilEnded()\nendProcess(3)`)).to.deep.equal({
      status: 3,
      stdout: 'cleaned up for 3',
    }))

  it('is that of Node.js if the system cannot replace the process', () => {
    const failing = `${cleanUp}process.execve = () => { throw new Error() }\n`
    expect(runScript(`${failing}untilEnded()\nendProcess(3)`)).to.deep.equal({
      status: 3,
      stdout: 'cleaned up for 3',
    })
  })

  it('runs the cleanup after an uncaught exception', () =>
    expect(runScript(`${cleanUp}queueMicrotask(() => { throw new Error() })`)).to.deep.equal({
      status: 1,
      stdout: 'cleaned up for 1',
    }))
})
