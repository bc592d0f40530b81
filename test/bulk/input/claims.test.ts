import { fstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Claims } from '../../../src/bulk/input/claims.ts'

describe('the emails and ids that rows have claimed', () => {
  let directory: string
  const before = process.env['TMPDIR']
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'chatctl-claims-'))
    process.env['TMPDIR'] = directory
  })
  afterEach(() => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    rmSync(directory, { recursive: true, force: true })
  })

  it('keeps what does not fit into memory in an unlinked file that only its owner can read', function () {
    // Open files are listed in /proc.
    if (process.platform !== 'linux') this.skip()
    const claims = new Claims(64 * 1024)
    try {
      for (let line = 0; line < 10_000; line++)
        claims.claim({ email: `user-${line}@x`, id: `id_${line}` }, line)
      const open = readdirSync('/proc/self/fd').filter((name) => targetOf(name).startsWith(directory))
      expect(open).to.have.length(1)
      const { mode, size, nlink } = fstatSync(Number(open[0]))
      expect({ mode: (mode & 0o777).toString(8), nlink }).to.deep.equal({ mode: '600', nlink: 0 })
      expect(size).to.be.above(100_000)
      expect(readdirSync(directory)).to.deep.equal([])
      expect(claims.findTaken({ email: 'USER-7@x', id: 'id_9' })).to.deep.equal([
        { field: 'email', line: 7 },
        { field: 'id', line: 9 },
      ])
    } finally {
      claims.close()
    }
  })
})

function targetOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`)
  } catch {
    // The one that listed them is closed.
    return ''
  }
}
