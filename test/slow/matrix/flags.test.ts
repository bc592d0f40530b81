import { expect } from 'chai'
import { wordsFor } from './calls.ts'
import { expectedCodes, type Flagged, nonsenseFlags, unvalued, validFlags } from './flag-calls.ts'
import { type Form, formsHere, inWords } from './forms.ts'
import { expectGoodManners, expectNothingLeft, filesOf, type Ran } from './invariants.ts'
import { testCells } from './met-cells.ts'
import type { PreparedHome } from './prepared-home.ts'
import { removeWorld, runIn } from './world.ts'

/** Every flag of every command, as the manifest has them: with what it takes, and with what it cannot mean. */

interface Cell {
  call: Flagged
  form: Form
  title: string
}

const cells: Cell[] = [...validFlags, ...nonsenseFlags].flatMap((call, index) => {
  // These choose the form themselves, or have more said than that.
  const isForm = ['output', 'json', 'jq', 'debug'].includes(call.flag)
  const possible = isForm ? formsHere.filter((form) => form !== 'JSON') : formsHere
  const only = possible[index % possible.length] as Form
  // What all commands share is the same code everywhere: one form each.
  const wanted = call.isShared ? [only] : possible
  return wanted.map((form) => ({ call, form, title: `${call.name}, ${inWords[form]}` }))
})

describe('the matrix of flags', function () {
  this.timeout(240_000)
  testCells(cells, 30, meet)

  it('has a value for each flag that takes one', () => {
    expect(unvalued).to.deep.equal([])
    expect(new Set(cells.map(({ title }) => title)).size).to.equal(cells.length)
  })
})

async function meet({ call, form }: Cell, home: PreparedHome): Promise<void> {
  const world = home.makeWorld()
  try {
    const before = new Set(filesOf(world))
    const run = await runIn(world, home.fill(wordsFor(call, form)), form, call)
    const ran: Ran = { call, form, world, run }
    expect(expectedCodes(call, form), `exit code; ${run.stdout}\n${run.stderr}`).to.include(run.exitCode)
    expectGoodManners(ran)
    await expectNothingLeft(ran, before)
  } finally {
    removeWorld(world)
  }
}
