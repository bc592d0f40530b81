import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { renderCsv, renderTsv } from '../../../src/view/format/delimited.ts'
import { anyText } from '../../contract/any-json.ts'

const anyGrid = fc.integer({ min: 1, max: 4 }).chain((width) =>
  fc.record({
    header: fc.array(fc.constantFrom('id', 'name', 'metadata.a'), { minLength: width, maxLength: width }),
    rows: fc.array(fc.array(anyText, { minLength: width, maxLength: width }), { maxLength: 4 }),
  }),
)

const unescaped: Record<string, string> = { '\\\\': '\\', '\\t': '\t', '\\n': '\n', '\\r': '\r' }

describe('delimited output', () => {
  it('is CSV whose rows are the same for readers that end lines at LF, CR LF, or CR', () =>
    fc.assert(
      fc.asyncProperty(anyGrid, async (grid) => {
        const records = parse(await renderCsv(grid), { record_delimiter: ['\n', '\r\n', '\r'] })
        expect(records).to.deep.equal([grid.header, ...grid.rows])
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    ))

  it('is CSV without blank lines, which many readers skip', async () => {
    expect(await renderCsv({ header: ['name'], rows: [[''], ['a']] })).to.equal('name\n""\na\n')
    expect(await renderCsv({ header: ['id', 'name'], rows: [['', '']] })).to.equal('id,name\n,\n')
  })

  it('is TSV with one line per row and escapes in its cells', () =>
    fc.assert(
      fc.property(anyGrid, (grid) => {
        const lines = parse(renderTsv(grid), {
          delimiter: '\t',
          quote: false,
          record_delimiter: '\n',
          relax_column_count: true,
        }) as string[][]
        const cells = lines.map((line) =>
          line.map((cell) => cell.replace(/\\[\\tnr]/g, (pair) => unescaped[pair] ?? pair)),
        )
        expect(cells).to.deep.equal(grid.rows)
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    ))
})
