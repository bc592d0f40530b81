import { expect } from 'chai'
import { clipboardPrograms } from '../../../src/chat/slash/copy-and-save.ts'

describe('the clipboard on Windows', () => {
  const [powerShell] = clipboardPrograms({ SystemRoot: 'D:\\Windows' }, 'win32')

  it('is set by PowerShell, which gets the text in base64 because it would decode it otherwise', () => {
    expect(powerShell?.command[0]).to.equal('D:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe')
    expect(powerShell?.encode?.('± ∵')).to.equal(Buffer.from('± ∵').toString('base64'))
  })

  it('is that of the terminal in a session over SSH', () => {
    expect(clipboardPrograms({ SSH_CONNECTION: 'x' }, 'win32')).to.deep.equal([])
  })
})
