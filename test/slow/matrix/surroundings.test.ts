import { expect } from 'chai'
import { type Call, calls, uncalled, wordsFor } from './calls.ts'
import { expectedCodes, type Flagged, validFlags } from './flag-calls.ts'
import { type Form, forms, formsHere, inWords } from './forms.ts'
import { expectGoodManners, expectNothingLeft, filesOf, type Ran } from './invariants.ts'
import type { PreparedHome } from './prepared-home.ts'
import { environment } from './surroundings/environment.ts'
import { files } from './surroundings/files.ts'
import { streams } from './surroundings/streams.ts'
import type { Surrounding } from './surroundings/surrounding.ts'
import { testCells } from './test-cells.ts'
import { removeWorld, runIn } from './world.ts'

/** Every command and each of its flags, with everything that can be wrong on a machine. */

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

/**
 * Each flag meets a quarter of the surroundings, in one form, so each surrounding meets a quarter of the
 * flags.
 */
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

describe('the matrix of machine faults', function () {
  this.timeout(240_000)
  testCells(cells, 20, meet)

  it('has a call of every command', () => {
    expect(uncalled, 'Add a call to test/slow/matrix/calls.ts').to.deep.equal([])
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
  // A flag may end a command before it meets the fault, or may name something that the fault removed.
  // A call that ends as usual may print a reply that is not whole.
  const others = expected !== 'fine' && expected.includes(0) ? fine : []
  const codes = expected === 'fine' ? fine : [...expected, ...('flag' in call ? [...fine, 2] : others)]
  expect(codes, `exit code; ${run.stdout}\n${run.stderr}`).to.include(run.exitCode)
}
