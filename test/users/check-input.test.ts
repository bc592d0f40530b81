import { createHash } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import type { RowFault } from '../../src/bulk/input/input-row.ts'
import { type CheckedInput, checkInput } from '../../src/users/rows/check-input.ts'
import { describeFault, textInput } from '../bulk/input/text-input.ts'

async function check(text: string): Promise<{ checked: CheckedInput; faults: string[] }> {
  const faults: string[] = []
  const add = (fault: RowFault) => faults.push(describeFault(fault))
  const checked = await checkInput(textInput('csv', text), 'users', add)
  return { checked, faults }
}

describe('checking a file of users', () => {
  it('returns the valid rows, and why the others are invalid', async () => {
    const text =
      'id,email,name,password,role,settings.theme\n,a@x,,pw,,\n,b@x,,,editor,dark\n1,c@x,C,,,\n2,,,,editor,\n,bad,,,,\n'
    const { checked, faults } = await check(text)
    const { rows, valid, ...counts } = checked
    expect(counts).to.deep.equal({
      sha256: createHash('sha256').update(text).digest('hex'),
      updatesWithEmail: 1,
      warnings: [],
    })
    expect([rows.length, valid.map(({ index }) => index)]).to.deep.equal([5, [0, 1, 2, 3]])
    expect(rows[4]).to.include({ line: 6, fault: '"bad" is not a valid email address' })
    expect(faults).to.deep.equal(['6:2 "bad" is not a valid email address'])
  })

  it('finds duplicate emails and IDs, whatever their case, in the order of the lines', async () => {
    const text =
      'id,email,name\n,a@x,\n,B@x,n\n7,,n\n,bad,\n,A@X,\n7,,m\n8,a@x,n\n,b@x ,\n,b@x,\n8,9@x,n\n9,8@x,n\n'
    const { checked, faults } = await check(text)
    expect(faults).to.deep.equal([
      '5:2 "bad" is not a valid email address',
      '6:2 email is already used on line 2',
      '7:1 id is already used on line 4',
      '8:3 email is already used on line 2',
      '9:2 email is already used on line 3',
      '10:2 email is already used on line 3',
    ])
    const faulty = checked.rows.filter(({ fault }) => fault !== undefined)
    expect(faulty.map(({ index }) => index)).to.deep.equal([3, 4, 5, 6, 7, 8])
  })

  it('reports the columns of the header that it recognizes in another case', async () => {
    const header = ' Email,ID,METADATA.Company,Metadata.Seats:=,Settings.Theme,name'
    const { checked, faults } = await check(`${header}\na@x,,Acme,5,dark,A\n`)
    expect(faults).to.deep.equal([])
    expect(checked.warnings).to.deep.equal([
      'rows: some columns are in another case. chatctl reads "Email" as "email", "ID" as "id", "METADATA.Company" as "metadata.Company", "Metadata.Seats:=" as "metadata.Seats:=", "Settings.Theme" as "settings.theme"',
    ])
  })

  it('finds no duplicate of an invalid row, which is not sent', async () => {
    const { checked, faults } = await check(
      'email,password,permissions\na@x,,read\na@x,,read:chat\nb@x,,read:chat\nb@x,,read\nA@x,,\n',
    )
    expect(faults).to.deep.equal([
      '2:6 permission "read" must have the form <action>:<resource>, such as read:chat',
      '5:1 email is already used on line 4',
      '5:6 permission "read" must have the form <action>:<resource>, such as read:chat',
      '6:1 email is already used on line 3',
    ])
    expect(checked.valid).to.have.length(2)
  })

  it('names the first line that has an email', async () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'B', 'b', 'é'), minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 30 }), async (names) => {
        const { faults } = await check(`email\n${names.map((one) => `${one}@x\n`).join('')}`)
        const keys = names.map((one) => one.toLowerCase())
        const expected = keys.flatMap((key, index) => {
          const first = keys.indexOf(key)
          return first === index ? [] : [`${index + 2}:1 email is already used on line ${first + 2}`]
        })
        expect(faults).to.deep.equal(expected)
      }),
    )
  })

  it('finds duplicates in a large file', async () => {
    const half = Array.from({ length: 4_000 }, (_, index) => `u${index}@x\n`).join('')
    const { checked, faults } = await check(`email\n${half}bad\n${half}`)
    expect(checked.valid).to.have.length(4_000)
    expect(faults.length).to.equal(4_001)
    expect(faults.slice(0, 2)).to.deep.equal([
      '4002:1 "bad" is not a valid email address',
      '4003:1 email is already used on line 2',
    ])
    expect(faults.at(-1)).to.equal('8002:1 email is already used on line 4001')
  })

  it('distinguishes an email and an ID with the same text', async () =>
    expect((await check('id,email,name\na@x,,n\n,a@x,\n')).faults).to.deep.equal([]))
})
