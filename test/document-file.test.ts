import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { DocumentFile } from '../src/system/replace-document.ts'

describe('a file that is replaced as a whole', () => {
  let folder: string
  let path: string
  let aside: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'chatctl-document-'))
    path = join(folder, 'results.csv')
    aside = join(folder, `.results.csv.${process.pid}.part`)
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  async function write(text: string): Promise<void> {
    const file = new DocumentFile(path)
    await file.write(Buffer.from(text))
    await file.finish()
  }

  it('is for its owner alone, whatever another process with this id has left', async function () {
    if (process.platform === 'win32') this.skip()
    writeFileSync(aside, 'earlier', { mode: 0o644 })
    await write('secret')
    expect(readFileSync(path, 'utf8')).to.equal('secret')
    expect(statSync(path).mode & 0o777).to.equal(0o600)
  })

  it('is not written where a link beside it leads to', async function () {
    if (process.platform === 'win32') this.skip()
    const elsewhere = join(folder, 'elsewhere')
    writeFileSync(elsewhere, '')
    symlinkSync(elsewhere, aside)
    await write('secret')
    expect(readFileSync(elsewhere, 'utf8')).to.equal('')
    expect(readdirSync(folder)).to.have.members(['elsewhere', 'results.csv'])
    expect(readFileSync(path, 'utf8')).to.equal('secret')
  })
})
