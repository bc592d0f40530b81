import { expect } from 'chai'
import fc from 'fast-check'
import { encode } from 'uqr'
import { drawQrCode } from '../../src/terminal/qr-code.ts'
import { forAll } from '../support/for-all.ts'

/** The light modules of a drawing, row by row. */
const readModules = (lines: readonly string[]): boolean[][] =>
  lines.flatMap((line) => [
    [...line].map((block) => '█▀'.includes(block)),
    [...line].map((block) => '█▄'.includes(block)),
  ])

describe('drawQrCode', () => {
  it('draws every module, with a light border around them', () =>
    forAll(fc.string({ maxLength: 300 }), (text) => {
      const lines = drawQrCode(text)
      const { data, size } = encode(text, { border: 2 })
      expect(new Set(lines.map(({ length }) => length))).to.deep.equal(new Set([size]))
      expect(readModules(lines).slice(0, size)).to.deep.equal(data.map((row) => row.map((isDark) => !isDark)))
      const drawn = readModules(lines)
      for (const row of [drawn[0], drawn[1], drawn[size - 2], drawn[size - 1]])
        expect(row?.every(Boolean)).to.equal(true)
    }))

  it('fits 40 columns with an address of a usual length', () => {
    const [line = ''] = drawQrCode(`https://${'chat'.repeat(8)}.example/device?user_code=WDJB-MJHT`)
    expect(line.length).to.be.at.most(40)
  })
})
