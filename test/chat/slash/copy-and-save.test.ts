import { expect } from 'chai'
import { clipboardPrograms } from '../../../src/chat/slash/copy-and-save.ts'

describe('the clipboard on Windows', () => {
  const [powerShell, clip] = clipboardPrograms({ SystemRoot: 'D:\\Windows' }, 'win32')

  it('is set by PowerShell, which gets the text in base64 because it would decode it otherwise', () => {
    expect(powerShell?.command[0]).to.equal('D:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe')
    expect(powerShell?.encode?.('± ∵')).to.equal(Buffer.from('± ∵').toString('base64'))
  })

  it('is otherwise set by clip.exe, which gets UTF-16 with a byte order mark', () => {
    expect(clip?.command).to.deep.equal(['D:\\Windows\\System32\\clip.exe'])
    expect(clip?.encode?.('é')).to.deep.equal(Buffer.from([0xff, 0xfe, 0xe9, 0]))
  })

  it('is that of the terminal in a session over SSH', () => {
    expect(clipboardPrograms({ SSH_CONNECTION: 'x' }, 'win32')).to.deep.equal([])
  })
})
