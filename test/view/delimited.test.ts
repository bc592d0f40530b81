import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { renderCsv, renderTsv } from '../../src/view/delimited.ts'
import { anyText } from '../contract/any-json.ts'

const anyGrid = fc.integer({ min: 1, max: 4 }).chain((width) =>
  fc.record({
    header: fc.array(fc.constantFrom('id', 'name', 'metadata.a'), { minLength: width, maxLength: width }),
    rows: fc.array(fc.array(anyText, { minLength: width, maxLength: width }), { maxLength: 4 }),
  }),
)

const unescaped: Record<string, string> = { '\\\\': '\\', '\\t': '\t', '\\n': '\n', '\\r': '\r' }

describe('delimited output', () => {
  it('is CSV that a reader that is not ours reads cell by cell', async () => {
    await fc.assert(
      fc.asyncProperty(anyGrid, async (grid) => {
        const records = parse(await renderCsv(grid), { record_delimiter: '\n' })
        expect(records).to.deep.equal([grid.header, ...grid.rows])
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('is CSV whose lines no reader ends elsewhere, whatever ends a line for it', async () => {
    await fc.assert(
      fc.asyncProperty(anyGrid, async (grid) => {
        const records = parse(await renderCsv(grid), { record_delimiter: ['\n', '\r\n', '\r'] })
        expect(records).to.deep.equal([grid.header, ...grid.rows])
      }),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('is CSV without blank lines, which are no records to many readers', async () => {
    expect(await renderCsv({ header: ['name'], rows: [[''], ['a']] })).to.equal('name\n""\na\n')
    expect(await renderCsv({ header: ['id', 'name'], rows: [['', '']] })).to.equal('id,name\n,\n')
  })

  it('is TSV of one line for each row, each cell behind its escapes', () => {
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
    )
  })
})
