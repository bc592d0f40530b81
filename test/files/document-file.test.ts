import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { DocumentFile, replaceDocument } from '../../src/system/document-file.ts'
import { temporaryPath } from '../../src/system/replace-file.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { failing } from './failing.ts'

describe('a file that is replaced as a whole', () => {
  const directory = perTest(makeEmptyDirectory)
  let path: string
  beforeEach(() => {
    path = join(directory.path, 'results.csv')
  })

  it('is for its owner alone, whatever another process with this id has left', async function () {
    if (process.platform === 'win32') this.skip()
    writeFileSync(temporaryPath(path), 'earlier', { mode: 0o644 })
    await replaceDocument(path, 'secret')
    expect(readFileSync(path, 'utf8')).to.equal('secret')
    expect(statSync(path).mode & 0o777).to.equal(0o600)
  })

  it('replaces the file that a symbolic link leads to, and keeps the link', async function () {
    if (process.platform === 'win32') this.skip()
    const link = join(directory.path, 'link')
    writeFileSync(path, 'old')
    symlinkSync(path, link)
    await replaceDocument(link, 'new')
    expect(readFileSync(path, 'utf8')).to.equal('new')
    expect(readdirSync(directory.path)).to.have.members(['link', 'results.csv'])
    expect(readFileSync(link, 'utf8')).to.equal('new')
  })

  it('is written to where it is a device, and has no temporary file', async function () {
    if (process.platform === 'win32') this.skip()
    await replaceDocument('/dev/null', 'text')
    expect(statSync('/dev/null').isCharacterDevice()).to.equal(true)
  })

  it('removes what one killed process has left, and nothing of the others', () => {
    const left = (pid: number) => join(directory.path, `.results.csv.${pid}-abc.part`)
    for (const pid of [12, 123]) writeFileSync(left(pid), '')
    new DocumentFile(path).removeLeftovers(12)
    expect(readdirSync(directory.path)).to.deep.equal(['.results.csv.123-abc.part'])
  })

  for (const call of ['write', 'sync'] as const) {
    it(`keeps the old content, and nothing beside it, when ${call} fails`, async () => {
      writeFileSync(path, 'old')
      const reason = await failing.handle(call, () => replaceDocument(path, 'new').catch((error) => error))
      expect(reason).to.include({ name: 'Failure', kind: 'storage' })
      expect(reason.message).to.equal(`Cannot write ${path}: no space left on device (ENOSPC)`)
      expect(readFileSync(path, 'utf8')).to.equal('old')
      expect(readdirSync(directory.path)).to.deep.equal(['results.csv'])
    })
  }

  it('leaves nothing beside it when the rename fails and it is discarded', async () => {
    const file = new DocumentFile(path)
    await file.write(Buffer.from('new'))
    const reason = await failing.call('renameSync', () => file.finish().catch((error) => error))
    await file.discard()
    expect(reason).to.have.property('kind', 'storage')
    expect(readdirSync(directory.path)).to.deep.equal([])
  })
})
