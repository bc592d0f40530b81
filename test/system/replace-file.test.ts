import { once } from 'node:events'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { DocumentFile, replaceDocument } from '../../src/system/files/document-file.ts'
import {
  moveFile,
  moveIntoPlace,
  removeLeftovers,
  replaceFile,
  temporaryPath,
} from '../../src/system/files/replace-file.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { thrownFailure } from '../support/thrown-failure.ts'
import { failing } from './failing.ts'

const onPosix = process.platform === 'win32' ? it.skip : it

describe('replacing a file', () => {
  const directory = perTest(makeEmptyDirectory)
  let path: string
  beforeEach(() => {
    path = join(directory.path, 'state.json')
  })

  const replace = (content: string) => replaceFile(path, content, { flush: true })

  onPosix('makes it readable by its owner only, also if the old file was readable by others', () => {
    writeFileSync(path, 'old', { mode: 0o666 })
    replace('new')
    expect(readFileSync(path, 'utf8')).to.equal('new')
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    expect(readdirSync(directory.path)).to.deep.equal(['state.json'])
  })

  onPosix('replaces a symbolic link, and does not write to its target', () => {
    const elsewhere = join(directory.path, 'elsewhere')
    writeFileSync(elsewhere, 'theirs')
    symlinkSync(elsewhere, path)
    replace('new')
    expect(lstatSync(path).isFile()).to.equal(true)
    expect(readFileSync(elsewhere, 'utf8')).to.equal('theirs')
  })

  onPosix('does not write to the target of a link that has the name of the temporary file', () => {
    const elsewhere = join(directory.path, 'elsewhere')
    writeFileSync(elsewhere, 'theirs')
    const { random } = Math
    Math.random = () => 0.5
    try {
      symlinkSync(elsewhere, temporaryPath(path))
      expect(() => replace('secret')).to.throw('EEXIST')
    } finally {
      Math.random = random
    }
    expect(readFileSync(elsewhere, 'utf8')).to.equal('theirs')
  })

  for (const call of ['openSync', 'writeFileSync', 'fsyncSync', 'closeSync', 'renameSync'] as const)
    it(`keeps the old content and leaves no other file if ${call} fails`, async () => {
      writeFileSync(path, 'old')
      const reason = await failing.call(call, async () => replace('new')).catch((error) => error)
      expect(reason).to.have.property('code', 'ENOSPC')
      expect(readFileSync(path, 'utf8')).to.equal('old')
      expect(readdirSync(directory.path)).to.deep.equal(['state.json'])
    })

  it('throws the system error if the directory is missing, or if a directory has the name of the file', () => {
    expect(() => replaceFile(join(directory.path, 'missing', 'a'), 'new', { flush: false })).to.throw(
      'ENOENT',
    )
    mkdirSync(join(path, 'child'), { recursive: true })
    expect(() => replace('new')).to.throw(/EISDIR|EPERM|ENOTEMPTY/)
    expect(readdirSync(directory.path)).to.deep.equal(['state.json'])
  })

  it('throws the system error if the directory is read-only', function () {
    // Root may write everywhere.
    if (process.platform === 'win32' || process.getuid?.() === 0) this.skip()
    chmodSync(directory.path, 0o500)
    try {
      expect(() => replaceFile(join(directory.path, 'a'), 'new', { flush: false })).to.throw('EACCES')
    } finally {
      chmodSync(directory.path, 0o700)
    }
  })

  it('never shows a partial file to a reader while several writers of one process replace it', async () => {
    const length = 256 * 1024
    replace('-'.repeat(length))
    const writers = ['a', 'b', 'c'].map(
      (letter) =>
        new Worker(new URL('./replacing-worker.ts', import.meta.url), {
          workerData: { path, content: letter.repeat(length), times: 5 },
        }),
    )
    await Promise.all(writers.map((writer) => once(writer, 'message')))
    for (const writer of writers) writer.postMessage('go')
    let running = writers.length
    const ended = Promise.all(
      writers.map(
        (writer) =>
          new Promise<void>((resolve, reject) => {
            writer.once('error', reject)
            writer.once('exit', () => {
              running--
              resolve()
            })
          }),
      ),
    )
    while (running > 0) {
      const text = readFileSync(path, 'utf8')
      expect(text === (text[0] ?? '').repeat(length), `${text.length} characters`).to.equal(true)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await ended
    expect(readFileSync(path, 'utf8')).to.match(/^[abc]/)
    expect(readdirSync(directory.path)).to.deep.equal(['state.json'])
  })

  describe('that another program has open on Windows', () => {
    const busy = (code: string) => Object.assign(new Error('busy'), { code, errno: -16 })

    for (const code of ['EPERM', 'EACCES', 'EBUSY'])
      it(`waits until the file can be replaced, after ${code}`, async () => {
        writeFileSync(path, 'old')
        const temporary = temporaryPath(path)
        writeFileSync(temporary, 'new')
        const pauses: number[] = []
        await failing.renames([busy(code), busy(code), busy(code)], () =>
          moveFile(temporary, path, 'win32', (ms) => void pauses.push(ms)),
        )
        expect(readFileSync(path, 'utf8')).to.equal('new')
        expect(pauses).to.deep.equal([10, 20, 40])
      })

    it('gives up after about a second, and names the file and the programs that may have it open', async () => {
      let waited = 0
      const failure = await failing.renames(Array(100).fill(busy('EBUSY')), () =>
        thrownFailure(() =>
          moveFile('new', path, 'win32', (ms) => {
            waited += ms
          }),
        ),
      )
      expect(failure).to.include({ kind: 'storage' })
      expect(failure.message).to.equal(`Cannot replace ${path}: resource busy or locked (EBUSY)`)
      expect(failure.hint).to.include(
        'The file may be read-only (attrib -R removes that), or another program may have it open',
      )
      expect(waited).to.be.within(1_000, 2_000)
    })

    it('does not wait for another error, or on another system', async () => {
      const pause = () => expect.fail('paused')
      const other = Object.assign(new Error('full'), { code: 'ENOSPC' })
      for (const [error, platform] of [
        [other, 'win32'],
        [busy('EPERM'), 'linux'],
      ] as const)
        await failing.renames([error], () =>
          expect(() => moveFile('new', path, platform, pause)).to.throw(error),
        )
    })
  })

  it('moves a temporary file to its name, and removes those of killed writers', () => {
    const temporary = temporaryPath(path)
    writeFileSync(temporary, 'new')
    moveIntoPlace(temporary, path)
    expect(readFileSync(path, 'utf8')).to.equal('new')
    const other = temporaryPath(join(directory.path, 'state.json.other'))
    for (const left of [temporaryPath(path), temporaryPath(path), other]) writeFileSync(left, 'half')
    removeLeftovers(path)
    expect(readdirSync(directory.path)).to.have.length(2).and.include('state.json')
    expect(readFileSync(other, 'utf8')).to.equal('half')
  })
})

describe('replacing a document', () => {
  const directory = perTest(makeEmptyDirectory)
  let path: string
  beforeEach(() => {
    path = join(directory.path, 'results.csv')
  })

  onPosix('makes it readable by its owner only, whatever another process with this ID has left', async () => {
    writeFileSync(temporaryPath(path), 'earlier', { mode: 0o644 })
    await replaceDocument(path, 'secret')
    expect(readFileSync(path, 'utf8')).to.equal('secret')
    expect(statSync(path).mode & 0o777).to.equal(0o600)
  })

  onPosix('replaces the target of a symbolic link, and keeps the link', async () => {
    const link = join(directory.path, 'link')
    writeFileSync(path, 'old')
    symlinkSync(path, link)
    await replaceDocument(link, 'new')
    expect(readFileSync(path, 'utf8')).to.equal('new')
    expect(readdirSync(directory.path)).to.have.members(['link', 'results.csv'])
    expect(readFileSync(link, 'utf8')).to.equal('new')
  })

  onPosix('writes to a device directly, without a temporary file', async () => {
    await replaceDocument('/dev/null', 'text')
    expect(statSync('/dev/null').isCharacterDevice()).to.equal(true)
  })

  it('removes the temporary files of one killed process, and no others', () => {
    const left = (pid: number) => join(directory.path, `.results.csv.${pid}-abc.part`)
    for (const pid of [12, 123]) writeFileSync(left(pid), '')
    new DocumentFile(path).removeLeftovers(12)
    expect(readdirSync(directory.path)).to.deep.equal(['.results.csv.123-abc.part'])
  })

  for (const call of ['write', 'sync'] as const)
    it(`keeps the old content and leaves no other file if ${call} fails`, async () => {
      writeFileSync(path, 'old')
      const reason = await failing.handle(call, () => replaceDocument(path, 'new').catch((error) => error))
      expect(reason).to.include({ name: 'Failure', kind: 'storage' })
      expect(reason.message).to.equal(`Cannot write ${path}: no space left on device (ENOSPC)`)
      expect(readFileSync(path, 'utf8')).to.equal('old')
      expect(readdirSync(directory.path)).to.deep.equal(['results.csv'])
    })

  it('leaves no file if the rename fails and the document is discarded', async () => {
    const file = new DocumentFile(path)
    await file.write(Buffer.from('new'))
    const reason = await failing.call('renameSync', () => file.finish().catch((error) => error))
    await file.discard()
    expect(reason).to.have.property('kind', 'storage')
    expect(readdirSync(directory.path)).to.deep.equal([])
  })
})
