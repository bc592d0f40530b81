import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { ActivityLog, activityFiles } from '../../src/activity/activity-log.ts'
import { Directories } from '../../src/system/files/directories.ts'
import { tryProcessLock } from '../../src/system/files/process-lock.ts'
import { perTest } from '../support/lifetime.ts'
import { stateOf } from '../support/recorded-activity.ts'
import { createSandbox } from '../support/sandbox.ts'

describe('the log of changes', () => {
  const sandbox = perTest(createSandbox)
  const open = (maxBytes = 1000) => new ActivityLog(new Directories(sandbox.env), { maxBytes, checkAfter: 1 })
  const files = () => activityFiles(stateOf(sandbox))
  const contents = () => files().map((path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined))

  it('begins a new file at the maximum size, and keeps four', () => {
    const log = open(4)
    for (const line of ['one\n', 'two\n', 'three\n', 'four\n', 'five\n', 'six\n']) log.append(line)
    log.close()
    expect(contents()).to.deep.equal(['six\n', 'five\n', 'four\n', 'three\n'])
  })

  it('continues in the file that another process has begun', () => {
    const [one, other] = [open(4), open(4)]
    one.append('one\n')
    other.append('two\n')
    expect(contents().slice(0, 2)).to.deep.equal(['two\n', 'one\n'])
    one.append('three\n')
    other.append('four\n')
    expect(contents()).to.deep.equal(['four\n', 'three\n', 'two\n', 'one\n'])
    one.close()
    other.close()
  })

  it('lets the file grow while another process holds the lock', () => {
    const log = open(4)
    log.append('one\n')
    const release = tryProcessLock(`${files()[0]}.lock`)
    log.append('two\n')
    expect(contents()[0]).to.equal('one\ntwo\n')
    release?.()
    log.append('three\n')
    log.close()
    expect(contents().slice(0, 2)).to.deep.equal(['three\n', 'one\ntwo\n'])
  })

  it('is created again if it is deleted', () => {
    const log = open()
    log.append('one\n')
    rmSync(stateOf(sandbox), { recursive: true })
    log.append('two\n')
    log.close()
    expect(contents()[0]).to.equal('two\n')
  })

  it('notices a replaced file after some writes', () => {
    const log = new ActivityLog(new Directories(sandbox.env), { maxBytes: 1000, checkAfter: 2 })
    log.append('one\n')
    rmSync(stateOf(sandbox), { recursive: true })
    log.append('two\n')
    expect(contents()[0]).to.equal(undefined)
    log.append('three\n')
    log.close()
    expect(contents()[0]).to.equal('three\n')
  })

  it('begins a line after an incomplete one', () => {
    mkdirSync(stateOf(sandbox), { recursive: true })
    writeFileSync(files()[0] ?? '', 'incomplete')
    const log = open()
    log.append('one\n')
    log.append('two\n')
    log.close()
    expect(contents()[0]).to.equal('incomplete\none\ntwo\n')
  })

  it('does not write through a link', () => {
    mkdirSync(stateOf(sandbox), { recursive: true })
    const target = join(sandbox.home, 'target')
    writeFileSync(target, 'kept')
    symlinkSync(target, files()[0] ?? '')
    expect(() => open().append('one\n')).to.throw(/ELOOP/)
    expect(readFileSync(target, 'utf8')).to.equal('kept')
  })

  it('loses no line of several processes that write and rotate at the same time', async () => {
    const [processes, lines] = [3, 400]
    const children = Array.from({ length: processes }, (_, index) =>
      fork(new URL('write-activity.ts', import.meta.url), [`process-${index}`, String(lines), '20000'], {
        env: sandbox.env,
      }),
    )
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]))
    expect(codes).to.deep.equal([0, 0, 0])
    const texts = contents()
    expect(texts[1]).to.be.a('string')
    // Oldest first.
    const written = texts.reverse().join('').split('\n').filter(Boolean)
    for (let index = 0; index < processes; index++) {
      const own = written.filter((line) => line.startsWith(`process-${index} `))
      expect(own.map((line) => line.trimEnd())).to.deep.equal(
        Array.from({ length: lines }, (_, count) => `process-${index} ${count}`),
      )
    }
    expect(written).to.have.length(processes * lines)
  })
})
