import { readdirSync, writeFileSync } from 'node:fs'
import { devNull } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { DocumentFile } from '../../src/system/files/document-file.ts'
import { demandFileName } from '../../src/system/files/windows-file-name.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { thrownFailure } from '../support/thrown-failure.ts'

describe('the name of a new file on Windows', () => {
  const directory = perTest(makeEmptyDirectory)
  const sandbox = perTest(createSandbox)

  for (const name of ['CON', 'con.txt', 'aux.', 'Com1.csv', 'LPT³', 'C:\\exports\\nul.json', 'prn .md']) {
    it(`is refused if it is a device: ${name}`, () => {
      const failure = thrownFailure(() => demandFileName(name, 'win32'))
      expect(failure).to.include({ kind: 'usage', message: `${name} has the name of a device on Windows` })
    })
  }

  for (const name of ['reply:1.json', 'a?.csv', 'x\\"y"']) {
    it(`is refused if it contains a reserved character: ${name}`, () => {
      expect(thrownFailure(() => demandFileName(name, 'win32')).message).to.match(/cannot contain [:?"] on/)
    })
  }

  for (const name of ['report.', 'my report ', 'C:\\exports\\a.json. ']) {
    it(`is refused if other programs cannot open it, because of its end: ${JSON.stringify(name)}`, () => {
      const { kind, message } = thrownFailure(() => demandFileName(name, 'win32'))
      expect(kind).to.equal('usage')
      expect(message).to.equal(`A file name cannot end with a period or a space on Windows: ${name}`)
    })
  }

  it('may be similar to that of a device, or contain any character on other systems', () => {
    for (const name of ['console.txt', 'nullable', 'C:\\con\\x', 'com10', 'COM', 'C:report.csv']) {
      demandFileName(name, 'win32')
    }
    for (const name of ['nul', 'a:b', 'con.txt']) demandFileName(name, 'linux')
  })

  for (const args of [
    ['service', 'run', '--data', 'CON'],
    ['service', 'keys', 'create', '--name', 'ci', '--data', 'CON'],
    ['users', 'apply', 'users.csv', '--state', 'CON', '--no-password'],
    ['users', 'list', '--state', 'CON'],
  ]) {
    it(`is refused before anything is created: chatctl ${args.join(' ')}`, async () => {
      writeFileSync(join(sandbox.home, 'users.csv'), 'email\na@example.com\n')
      const run = await runChatctl(sandbox, [...args, '--profile', 'local'], { host: { platform: 'win32' } })
      expectFailure(run, 2, 'CON has the name of a device on Windows', 'Choose another name.')
      expect(readdirSync(sandbox.home)).to.deep.equal(['users.csv'])
    })
  }

  it('discards what is written to NUL, in any directory', async () => {
    const file = new DocumentFile(join(directory.path, 'nul'), { platform: 'win32' })
    await file.write(Buffer.from('text'))
    await file.finish()
    expect(file.path).to.equal(devNull)
    expect(readdirSync(directory.path)).to.deep.equal([])
  })

  it('is checked before anything is written', () => {
    const failure = thrownFailure(
      () => new DocumentFile(join(directory.path, 'con.json'), { platform: 'win32' }),
    )
    expect(failure).to.include({ kind: 'usage' })
  })
})
