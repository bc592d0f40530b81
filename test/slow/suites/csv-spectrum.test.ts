import { promisify } from 'node:util'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import spectrum from 'csv-spectrum'
import { csvRecords } from '../../../src/bulk/input/csv-records.ts'
import { renderCsv } from '../../../src/view/format/delimited.ts'

/** csv-spectrum by Max Ogden: CSV of many kinds, each with the JSON that it represents. */
describe('the samples of csv-spectrum', () => {
  it('are parsed correctly, and survive a round trip', async () => {
    const all = await promisify(spectrum)()
    expect(all.length).to.be.above(10)
    for (const { name, csv, json } of all) {
      if (name === quoteInside) continue
      const expected: Record<string, string>[] = JSON.parse(json.toString())
      const [names = [], ...rows] = Array.from(csvRecords(csv.toString(), 'rows'), ({ cells }) => cells)
      const found = rows.map((cells) => Object.fromEntries(names.map((key, index) => [key, cells[index]])))
      expect(found, name).to.deep.equal(expected)
      const header = Object.keys(expected[0] ?? {})
      const written = await renderCsv({
        header,
        rows: expected.map((row) => header.map((key) => row[key] ?? '')),
      })
      expect(parse(written, { columns: true }), name).to.deep.equal(expected)
    }
  })

  it('include one invalid file, which is rejected at its quotation mark', async () => {
    const sample = (await promisify(spectrum)()).find(({ name }) => name === quoteInside)
    const [, row] = csvRecords(String(sample?.csv), 'rows')
    expect(row?.fault?.message).to.equal('unexpected quote: a field with a quote must begin with one')
    expect(row?.raw.charAt(row.fault?.offset ?? 0)).to.equal('"')
  })
})

/**
 * A sample with a quotation mark in a field that is not quoted (RFC 4180 section 2, rule 5). Its JSON belongs
 * to another sample.
 */
const quoteInside = 'location_coordinates'
