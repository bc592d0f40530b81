import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { type CheckedInput, checkInput } from '../../../src/users/input/check-input.ts'
import type { RowFault } from '../../../src/users/input/input-row.ts'
import { UniqueValues } from '../../../src/users/input/unique-values.ts'
import { describeFault, textInput } from './text-input.ts'

async function check(text: string): Promise<{ checked: CheckedInput; faults: string[] }> {
  const faults: string[] = []
  const add = (fault: RowFault) => faults.push(describeFault(fault))
  const claims = new UniqueValues()
  const checked = await checkInput(textInput('csv', text), 'users', add, claims)
  return { checked, faults }
}

describe('checking a file of users', () => {
  it('counts the requests of the valid rows', async () => {
    const text =
      'id,email,name,password,role,settings.theme\n,a@x,,pw,,\n,b@x,,,editor,dark\n1,c@x,C,,,\n2,,,,editor,\n,bad,,,,\n'
    const { checked, faults } = await check(text)
    expect({ ...checked, faulty: checked.faulty.size }).to.deep.equal({
      rows: 5,
      sha256: createHash('sha256').update(text).digest('hex'),
      faulty: 1,
      steps: { create: 2, update: 2, assign: 2 },
      updatesWithEmail: 1,
      withoutPassword: 1,
      respelled: [],
    })
    expect(checked.faulty.has(4)).to.equal(true)
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
    const faulty = Array.from({ length: checked.rows }, (_, index) => index).filter((index) =>
      checked.faulty.has(index),
    )
    expect(faulty).to.deep.equal([3, 4, 5, 6, 7, 8])
  })

  it('reports the columns of the header that it recognizes in another case', async () => {
    const header = ' Email,ID,METADATA.Company,Metadata.Seats:=,Settings.Theme,name'
    const { checked, faults } = await check(`${header}\na@x,,Acme,5,dark,A\n`)
    expect(faults).to.deep.equal([])
    expect(checked.respelled).to.deep.equal([
      { given: 'Email', field: 'email' },
      { given: 'ID', field: 'id' },
      { given: 'METADATA.Company', field: 'metadata.Company' },
      { given: 'Metadata.Seats:=', field: 'metadata.Seats:=' },
      { given: 'Settings.Theme', field: 'settings.theme' },
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
    expect(checked.steps.create).to.equal(2)
  })

  it('distinguishes an email and an ID with the same text', async () => {
    const { faults } = await check('id,email,name\na@x,,n\n,a@x,\n')
    expect(faults).to.deep.equal([])
  })
})
