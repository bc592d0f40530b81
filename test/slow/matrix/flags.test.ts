import { expect } from 'chai'
import { wordsFor } from './calls.ts'
import {
  expectedCodes,
  type Flagged,
  flagsWithVariables,
  invalidFlags,
  unvalued,
  validFlags,
} from './flag-calls.ts'
import { type Form, formsHere, inWords } from './forms.ts'
import { expectGoodManners, expectNothingLeft, filesOf, type Ran } from './invariants.ts'
import type { PreparedHome } from './prepared-home.ts'
import { testCells } from './test-cells.ts'
import { removeWorld, runIn } from './world.ts'

/** Each flag of each command in the manifest, with a valid and an invalid value. */

interface Cell {
  call: Flagged
  form: Form
  title: string
}

const cells: Cell[] = [...validFlags, ...flagsWithVariables, ...invalidFlags].flatMap((call, index) => {
  // These flags choose the output format themselves, or add output to it.
  const isForm = ['output', 'json', 'jq', 'debug'].includes(call.flag)
  const possible = isForm ? formsHere.filter((form) => form !== 'JSON') : formsHere
  const only = possible[index % possible.length] as Form
  // Flags of all commands share their code, so each is tested in one form.
  const wanted = call.isShared ? [only] : possible
  return wanted.map((form) => ({ call, form, title: `${call.name}, ${inWords[form]}` }))
})

describe('the matrix of flags', function () {
  this.timeout(240_000)
  testCells(cells, 12, meet)

  it('has a valid value for each flag that takes one', () => {
    expect(unvalued, 'Add a valid value to test/support/flag-table.ts').to.deep.equal([])
    expect(new Set(cells.map(({ title }) => title)).size).to.equal(cells.length)
  })
})

async function meet({ call, form }: Cell, home: PreparedHome): Promise<void> {
  const world = home.makeWorld()
  try {
    world.env = { ...world.env, ...call.env }
    const before = new Set(filesOf(world))
    const run = await runIn(world, home.fill(wordsFor(call, form)), form, call)
    const ran: Ran = { call, form, world, run }
    const codes = 'exit code; the codes of a flag are in test/support/flag-table.ts'
    expect(expectedCodes(call, form), `${codes}\n${run.stdout}\n${run.stderr}`).to.include(run.exitCode)
    expectGoodManners(ran)
    await expectNothingLeft(ran, before)
  } finally {
    removeWorld(world)
  }
}
