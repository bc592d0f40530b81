import { expect } from 'chai'
import { randomBytes } from '../../src/system/random-bytes.ts'

describe('random bytes', () => {
  it('have the wanted length, and differ each time', () => {
    const drawn = Array.from({ length: 100 }, () => randomBytes(32))
    for (const bytes of drawn) expect(bytes).to.have.length(32)
    expect(new Set(drawn.map((bytes) => bytes.toString('hex'))).size).to.equal(100)
  })
})
