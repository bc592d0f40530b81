import { expect } from 'chai'
import { type Call, calls, uncalled, wordsFor } from './calls.ts'
import { expectedCodes, type Flagged, validFlags } from './flag-calls.ts'
import { type Form, forms, formsHere, inWords } from './forms.ts'
import { expectGoodManners, expectNothingLeft, filesOf, type Ran } from './invariants.ts'
import { testCells } from './met-cells.ts'
import type { PreparedHome } from './prepared-home.ts'
import { environment } from './surroundings/environment.ts'
import { files } from './surroundings/files.ts'
import { streams } from './surroundings/streams.ts'
import type { Surrounding } from './surroundings/surrounding.ts'
import { removeWorld, runIn } from './world.ts'

/** Every command, and every flag of it, with everything that a machine may have against it. */

const surroundings: readonly Surrounding[] = [...files, ...streams, ...environment]

interface Cell {
  surrounding: Surrounding
  call: Call
  form: Form
  title: string
}

function cellOf(surrounding: Surrounding, call: Call, form: Form): Cell {
  return { surrounding, call, form, title: `${surrounding.name}: ${call.name}, ${inWords[form]}` }
}

const ofCalls = surroundings.flatMap((surrounding) =>
  calls.flatMap((call) => formsOf(surrounding).map((form) => cellOf(surrounding, call, form))),
)

/** A flag meets every fourth of them, in one form: each of them meets a fourth of all flags. */
const ofFlags = ownFlags().flatMap((call, index) =>
  surroundings
    .filter((_, at) => at % 4 === index % 4)
    .flatMap((surrounding, at) => {
      const possible = formsOf(surrounding)
      return possible.length === 0
        ? []
        : [cellOf(surrounding, call, possible[(index + at) % possible.length] as Form)]
    }),
)

function ownFlags(): readonly Flagged[] {
  return validFlags.filter(({ isShared }) => !isShared)
}

function formsOf({ forms: wanted = forms, isPossible = () => true }: Surrounding): Form[] {
  return isPossible() ? wanted.filter((form) => formsHere.includes(form)) : []
}

const cells = [...ofCalls, ...ofFlags]

describe('the matrix of what is wrong on this machine', function () {
  this.timeout(240_000)
  testCells(cells, 45, meet)

  it('has a call of every command', () => {
    expect(uncalled).to.deep.equal([])
    expect(new Set(cells.map(({ title }) => title)).size).to.equal(cells.length)
  })
})

async function meet({ surrounding, call, form }: Cell, home: PreparedHome): Promise<void> {
  const world = home.makeWorld()
  try {
    surrounding.make(world)
    const before = new Set(filesOf(world))
    const run = await runIn(world, home.fill(wordsFor(call, form)), form, call)
    const ran: Ran = { call, form, world, run }
    expectEnding(surrounding, ran)
    expectGoodManners(ran)
    if (surrounding.isPlain) expect(run.stdout).not.to.contain('\u001b')
    await expectNothingLeft(ran, before)
  } finally {
    removeWorld(world)
  }
}

function expectEnding({ ends }: Surrounding, { call, form, run }: Ran): void {
  const expected = ends(call, form)
  const fine = 'flag' in call ? expectedCodes(call as Flagged, form) : [call.fine[form]]
  // A flag may have a command end before it meets what is wrong, and may name what is lost with it.
  const codes = expected === 'fine' ? fine : 'flag' in call ? [...expected, ...fine, 2] : expected
  expect(codes, `exit code; ${run.stdout}\n${run.stderr}`).to.include(run.exitCode)
}
