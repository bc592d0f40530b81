import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { tryProcessLock, waitForProcessLock, withFileLock } from '../../src/system/files/process-lock.ts'
import { sqliteUrl } from '../../src/system/sqlite.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'

describe('a process lock', () => {
  const directory = perTest(makeEmptyDirectory)
  let path: string
  const children: ChildProcess[] = []
  beforeEach(() => {
    path = join(directory.path, 'a.lock')
  })
  afterEach(async () => {
    await Promise.all(children.splice(0).map(kill))
  })

  function start(...args: string[]): ChildProcess {
    const worker = fileURLToPath(new URL('./lock-worker.ts', import.meta.url))
    const child = spawn(process.execPath, [worker, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(child)
    return child
  }

  async function startHolder(): Promise<ChildProcess> {
    const child = start('hold', path)
    if (child.stdout) await once(child.stdout, 'data')
    return child
  }

  async function kill(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  it('excludes others in the same process, and leaves no file', () => {
    const release = tryProcessLock(path)
    expect(release).to.be.a('function')
    expect(tryProcessLock(path)).to.equal(undefined)
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).to.equal(0o600)
    release?.()
    expect(readdirSync(directory.path)).to.deep.equal([])
    tryProcessLock(path)?.()
    expect(readdirSync(directory.path)).to.deep.equal([])
  })

  it('stays with a process that is alive, however old its file is, and is free as soon as it is killed', async () => {
    const holder = await startHolder()
    expect(tryProcessLock(path)).to.equal(undefined)
    utimesSync(path, new Date(0), new Date(0))
    expect(tryProcessLock(path)).to.equal(undefined)
    expect(await waitForProcessLock(path, { maxWait: 0 })).to.equal(undefined)
    await kill(holder)
    expect(readdirSync(directory.path)).to.deep.equal(['a.lock'])
    const release = tryProcessLock(path)
    expect(release).to.be.a('function')
    release?.()
    expect(readdirSync(directory.path)).to.deep.equal([])
  })

  it('can be waited for, with one notification', async () => {
    const release = tryProcessLock(path)
    let told = 0
    const waiting = waitForProcessLock(path, {
      maxWait: 60_000,
      onWait: () => {
        told++
        setImmediate(() => release?.())
      },
    })
    const next = await waiting
    expect(next).to.be.a('function')
    expect(told).to.equal(1)
    next?.()
  })

  it('stops waiting with the reason of an abort', async () => {
    const release = tryProcessLock(path)
    const abort = new AbortController()
    const waiting = waitForProcessLock(path, {
      maxWait: 60_000,
      signal: abort.signal,
      onWait: () => setImmediate(() => abort.abort(new Error('ended'))),
    })
    expect(await waiting.catch((error) => error)).to.equal(abort.signal.reason)
    release?.()
  })

  it('keeps all changes of two processes that change one file at the same time', async () => {
    const file = join(directory.path, 'number')
    writeFileSync(file, '0')
    const exits = [1, 2].map(() => once(start('count', file, '15'), 'exit'))
    for (const [code] of await Promise.all(exits)) expect(code).to.equal(0)
    expect(readFileSync(file, 'utf8')).to.equal('30')
    expect(readdirSync(directory.path)).to.deep.equal(['number'])
  })

  it('is released if the change throws', async () => {
    const file = join(directory.path, 'number')
    const change = () => {
      throw new Error('no')
    }
    expect(await withFileLock(file, change).catch((error) => error)).to.have.property('message', 'no')
    expect(readdirSync(directory.path)).to.deep.equal([])
  })

  it('is named in the error if it cannot be opened, for example because another user has left it', async () => {
    const file = join(directory.path, 'number')
    mkdirSync(`${file}.lock`)
    const failure = await withFileLock(file, () => {}).catch((error) => error)
    expect(failure).to.include({
      kind: 'storage',
      message: `Cannot open the lock ${file}.lock`,
      hint: 'If no other chatctl process is running, remove the file.',
    })
  })

  it('fails with the system error in a read-only directory', function () {
    // Root may write everywhere.
    if (process.platform === 'win32' || process.getuid?.() === 0) this.skip()
    chmodSync(directory.path, 0o500)
    try {
      expect(() => tryProcessLock(path)).to.throw('EACCES')
    } finally {
      chmodSync(directory.path, 0o700)
    }
  })

  it('may be on a share of Windows, whose host SQLite would refuse in a URL', () => {
    const urlOf = (path: string, platform: NodeJS.Platform) => sqliteUrl(path, platform).href
    expect(urlOf('\\\\server\\share\\a b.lock', 'win32')).to.equal('file:////server/share/a%20b.lock')
    expect(urlOf('C:\\a#b.lock', 'win32')).to.equal('file:///C:/a%23b.lock')
    expect(urlOf('/home/ada/a?b%.lock', 'linux')).to.equal('file:///home/ada/a%3Fb%25.lock')
  })
})
