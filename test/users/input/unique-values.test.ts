import { fstatSync, readdirSync, readlinkSync } from 'node:fs'
import { expect } from 'chai'
import { UniqueValues } from '../../../src/users/input/unique-values.ts'

describe('the emails and IDs that rows have used', () => {
  it('are stored in an unlinked file that only its owner can read if they exceed the memory', function () {
    // Open files are listed in /proc.
    if (process.platform !== 'linux') this.skip()
    const before = temporaryFiles()
    const claims = new UniqueValues(64 * 1024)
    try {
      for (let line = 0; line < 10_000; line++)
        claims.claim({ email: `user-${line}@x`, id: `id_${line}` }, line)
      const opened = temporaryFiles().filter((descriptor) => !before.includes(descriptor))
      expect(opened).to.have.length(1)
      const { mode, size, nlink } = fstatSync(opened[0] ?? -1)
      expect({ mode: (mode & 0o777).toString(8), nlink }).to.deep.equal({ mode: '600', nlink: 0 })
      expect(size).to.be.above(100_000)
      expect(claims.findTaken({ email: 'USER-7@x', id: 'id_9' })).to.deep.equal([
        { field: 'email', line: 7 },
        { field: 'id', line: 9 },
      ])
    } finally {
      claims.close()
    }
    expect(temporaryFiles()).to.deep.equal(before)
  })
})

/** Descriptors of the temporary files of SQLite, whose names begin with etilqs_. */
function temporaryFiles(): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`).includes('/etilqs_')
      } catch {
        // The descriptor that listed them is closed.
        return false
      }
    })
}
