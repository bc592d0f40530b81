import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { ActivityLog, activityFiles } from '../../src/activity/activity-log.ts'
import { Directories } from '../../src/system/files/directories.ts'
import { tryProcessLock } from '../../src/system/files/process-lock.ts'
import { perTest } from '../support/lifetime.ts'
import { stateOf } from '../support/recorded-activity.ts'
import { createSandbox } from '../support/sandbox.ts'

describe('the activity record', () => {
  const sandbox = perTest(createSandbox)
  /** Writes lines in one run. */
  const write = (maxBytes: number, ...lines: string[]) => {
    const log = new ActivityLog(new Directories(sandbox.env), maxBytes)
    for (const line of lines) log.append(line)
    log.close()
  }
  const files = () => activityFiles(stateOf(sandbox))
  const contents = () => files().map((path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined))

  it('begins a new file in the next run at the maximum size, and keeps four', () => {
    write(4, 'zero\n', 'one\n')
    for (const line of ['two\n', 'three\n', 'four\n', 'five\n']) write(4, line)
    expect(contents()).to.deep.equal(['five\n', 'four\n', 'three\n', 'two\n'])
    write(4, 'six\n', 'seven\n')
    expect(contents()[0]).to.equal('six\nseven\n')
  })

  it('lets the file grow while another process holds the lock', () => {
    write(4, 'one\n')
    const release = tryProcessLock(`${files()[0]}.lock`)
    write(4, 'two\n')
    expect(contents()[0]).to.equal('one\ntwo\n')
    release?.()
    write(4, 'three\n')
    expect(contents().slice(0, 2)).to.deep.equal(['three\n', 'one\ntwo\n'])
  })

  it('begins a line after an incomplete one', () => {
    mkdirSync(stateOf(sandbox), { recursive: true })
    writeFileSync(files()[0] ?? '', 'incomplete')
    write(1000, 'one\n', 'two\n')
    expect(contents()[0]).to.equal('incomplete\none\ntwo\n')
  })

  it('loses no line of several processes that write at the same time', async () => {
    const [processes, lines] = [2, 200]
    const children = Array.from({ length: processes }, (_, index) =>
      fork(new URL('write-activity.ts', import.meta.url), [`process-${index}`, String(lines)], {
        env: { ...sandbox.env, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
      }),
    )
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]))
    expect(codes).to.deep.equal([0, 0])
    const written = (contents()[0] ?? '').split('\n').filter(Boolean)
    for (let index = 0; index < processes; index++)
      expect(
        written.filter((line) => line.startsWith(`process-${index} `)).map((line) => line.trimEnd()),
      ).to.deep.equal(Array.from({ length: lines }, (_, count) => `process-${index} ${count}`))
    expect(written).to.have.length(processes * lines)
  })
})
