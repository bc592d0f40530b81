import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { writeFailedRows } from '../../src/bulk/failed-rows.ts'
import type { InputFormat } from '../../src/bulk/input/input.ts'
import type { InputRow } from '../../src/bulk/input/input-row.ts'
import type { ImportedUser } from '../../src/users/rows/imported-user.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { rowsOf, textInput } from './input/text-input.ts'

type Row = InputRow<ImportedUser>

const inputs: Record<InputFormat | 'yaml in a map', string> = {
  csv: 'email,name,password,metadata.a\r\na@x,"A, ""B""\nC",pw,1\r\n,"x,y",,\nb@x,,,"open\n"c@x",,,\nd@x,é😀,pw,2\ne@x,,,"\n',
  jsonl:
    '{"email":"a@x","name":"A","password":"pw","metadata":{"a":[1]}}\r\n{"emial":1}\n{"a":\n{"email":"b@x","role":"r"}',
  json: '{"users":[\n  {"email":"a@x","name":"A","password":"pw"},\n {"emial":[1]}, 5, {"a":true}, {"email":"b@x","role":"r"}]}',
  yaml: '- email: a@x\n  name: |\n    A\n    - B\n  password: pw\n- email: !x y\n- "open\n- {"emial": 1}\n- email: b@x\n  permissions:\n  - a:b\n- email: c@x # last',
  'yaml in a map':
    'x: &pw pw\nusers:\n- email: a@x\n  name: "- A: \\n #"\n  password: *pw\n- email: b@x\n  metadata: {a: .inf}\n- c@x\n',
}

describe('the file of failed rows', () => {
  const directory = perTest(makeEmptyDirectory)
  let path: string
  beforeEach(() => {
    path = join(directory.path, 'failed')
  })

  async function rewrite(
    format: InputFormat,
    rows: readonly Row[],
    idOf: (row: Row) => string | undefined = () => undefined,
  ): Promise<Row[]> {
    const failed = rows.map((row) => ({ row, id: idOf(row) }))
    await writeFailedRows(path, failed, format, true)
    return rowsOf(textInput(format, readFileSync(path, 'utf8')))
  }

  for (const [name, text] of Object.entries(inputs)) {
    const [format] = name.split(' ') as [InputFormat]
    it(`contains the rows, including invalid ones: ${name}`, async () => {
      const all = await rowsOf(textInput(format, text))
      await fc.assert(
        fc.asyncProperty(fc.subarray(all, { minLength: 1 }), async (rows) => {
          const again = await rewrite(format, rows)
          expect(again.map(({ row }) => row)).to.deep.equal(rows.map(({ row }) => row))
          expect(again.map(({ faults }) => faults.length > 0)).to.deep.equal(
            rows.map(({ faults }) => faults.length > 0),
          )
        }),
        { numRuns: 40 },
      )
    })

    it(`contains the ID of a created user, and no password: ${name}`, async () => {
      const rows = (await rowsOf(textInput(format, text))).filter(({ faults }) => faults.length === 0)
      const again = await rewrite(format, rows, ({ index }) =>
        index === rows[0]?.index ? 'new "1",' : undefined,
      )
      const [first, ...others] = rows.map(({ row }) => row)
      const { password: _, ...kept } = first ?? {}
      expect(again.map(({ row }) => row)).to.deep.equal([{ ...kept, id: 'new "1",' }, ...others])
      expect(readFileSync(path, 'utf8').match(/pw/g)?.length ?? 0).to.equal(
        others.filter((row) => row?.password !== undefined).length,
      )
    })
  }

  it('has the IDs in the id column of the file', async () => {
    const rows = await rowsOf(textInput('csv', 'email,id,password\na@x,,pw\n,7,\nb@x,,pw\n'))
    await rewrite('csv', rows, ({ index }) => (index === 0 ? '5' : undefined))
    expect(readFileSync(path, 'utf8')).to.equal('email,id,password\na@x,5,\n,7,\nb@x,,pw\n')
  })

  it('has the separator of the file', async () => {
    const rows = await rowsOf(textInput('csv', 'email;name\na@x;"A;B"\nb@x;B,C\n'))
    await rewrite('csv', rows, ({ index }) => (index === 0 ? '5' : undefined))
    expect(readFileSync(path, 'utf8')).to.equal('id;email;name\n5;a@x;"A;B"\n;b@x;B,C\n')
  })

  it('has the header and the other cells as the file wrote them', async () => {
    const rows = await rowsOf(textInput('csv', ' Email, ID ,metadata.a:=\n a@x ,,"[1, 2]"\n b@x ,,x\n'))
    await rewrite('csv', rows, ({ index }) => (index === 0 ? '5' : undefined))
    expect(readFileSync(path, 'utf8')).to.equal(' Email, ID ,metadata.a:=\n a@x ,5,"[1, 2]"\n b@x ,,x\n')
  })
})
