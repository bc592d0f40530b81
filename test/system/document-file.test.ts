import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { DocumentFile, replaceDocument } from '../../src/system/files/document-file.ts'
import { temporaryPath } from '../../src/system/files/replace-file.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { failing } from './failing.ts'

describe('replacing a document', () => {
  const directory = perTest(makeEmptyDirectory)
  let path: string
  beforeEach(() => {
    path = join(directory.path, 'results.csv')
  })

  it('makes it readable by its owner only, whatever another process with this ID has left', async function () {
    if (process.platform === 'win32') this.skip()
    writeFileSync(temporaryPath(path), 'earlier', { mode: 0o644 })
    await replaceDocument(path, 'secret')
    expect(readFileSync(path, 'utf8')).to.equal('secret')
    expect(statSync(path).mode & 0o777).to.equal(0o600)
  })

  it('replaces the target of a symbolic link, and keeps the link', async function () {
    if (process.platform === 'win32') this.skip()
    const link = join(directory.path, 'link')
    writeFileSync(path, 'old')
    symlinkSync(path, link)
    await replaceDocument(link, 'new')
    expect(readFileSync(path, 'utf8')).to.equal('new')
    expect(readdirSync(directory.path)).to.have.members(['link', 'results.csv'])
    expect(readFileSync(link, 'utf8')).to.equal('new')
  })

  it('writes to a device directly, without a temporary file', async function () {
    if (process.platform === 'win32') this.skip()
    await replaceDocument('/dev/null', 'text')
    expect(statSync('/dev/null').isCharacterDevice()).to.equal(true)
  })

  it('removes the temporary files of one killed process, and no others', () => {
    const left = (pid: number) => join(directory.path, `.results.csv.${pid}-abc.part`)
    for (const pid of [12, 123]) writeFileSync(left(pid), '')
    new DocumentFile(path).removeLeftovers(12)
    expect(readdirSync(directory.path)).to.deep.equal(['.results.csv.123-abc.part'])
  })

  for (const call of ['write', 'sync'] as const) {
    it(`keeps the old content and leaves no other file if ${call} fails`, async () => {
      writeFileSync(path, 'old')
      const reason = await failing.handle(call, () => replaceDocument(path, 'new').catch((error) => error))
      expect(reason).to.include({ name: 'Failure', kind: 'storage' })
      expect(reason.message).to.equal(`Cannot write ${path}: no space left on device (ENOSPC)`)
      expect(readFileSync(path, 'utf8')).to.equal('old')
      expect(readdirSync(directory.path)).to.deep.equal(['results.csv'])
    })
  }

  it('leaves no file if the rename fails and the document is discarded', async () => {
    const file = new DocumentFile(path)
    await file.write(Buffer.from('new'))
    const reason = await failing.call('renameSync', () => file.finish().catch((error) => error))
    await file.discard()
    expect(reason).to.have.property('kind', 'storage')
    expect(readdirSync(directory.path)).to.deep.equal([])
  })
})
