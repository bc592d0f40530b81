import { expect } from 'chai'
import { commandOf, type ServiceCall, serviceCalls } from '../../support/command-lines.ts'
import { createJobPool } from '../../support/job-pool.ts'
import { startScriptedServer } from '../../support/scripted-server.ts'
import { takeCells } from '../../support/take-sample.ts'
import { callNamed } from './calls.ts'
import { type Fault, faults, replyEnds } from './faults.ts'
import { formsHere, inWords, leftOut } from './forms.ts'
import { startGoodService } from './good-service.ts'
import { expectGoodManners, expectNothingLeft, filesOf } from './invariants.ts'
import { type Judged, judge, limits, type Outcome, sentKey } from './judge.ts'
import { PreparedHome } from './prepared-home.ts'
import { removeWorld, runIn } from './world.ts'

/** Every command that talks to the service, with every behavior of a service. */

interface Cell extends Judged {
  title: string
}

const faultsOf = ({ name }: ServiceCall): [string, Fault][] =>
  Object.entries({ ...faults, ...(/^chat:(send|complete)\b/.test(name) ? replyEnds : {}) })

const cells: Cell[] = serviceCalls.flatMap((call) =>
  faultsOf(call).flatMap(([faultName, fault]) =>
    formsHere.map((form) => ({
      call,
      faultName,
      fault,
      form,
      title: `${call.name}: ${faultName}, ${inWords[form]}`,
    })),
  ),
)

describe('the matrix of service faults', function () {
  this.timeout(180_000)
  let home: PreparedHome
  const outcomes = new Map<Cell, Promise<Outcome>>()
  const { sample, words } = takeCells(cells, 25)

  before(async () => {
    const service = await startGoodService()
    home = await PreparedHome.make(service.url)
    // Each cell has its own service.
    await service.close()
    // Most of the time, a cell waits for its service.
    const run = createJobPool(8)
    for (const cell of sample) {
      const outcome = run(() => meet(cell, home))
      // The test of the cell reports it.
      outcome.catch(() => {})
      outcomes.set(cell, outcome)
    }
  })
  after(() => home.remove())

  describe(words + leftOut, () => {
    for (const cell of sample) {
      it(cell.title, async () => {
        const outcome = await outcomes.get(cell)
        if (outcome) judge(cell, outcome)
      })
    }
  })
})

async function meet({ call, fault, faultName, form }: Cell, home: PreparedHome): Promise<Outcome> {
  const server = await startScriptedServer(fault.script(call))
  const world = home.makeWorld()
  world.env = { ...world.env, CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: sentKey }
  const local = callNamed(call.name)
  try {
    const before = new Set(filesOf(world))
    const words = [...call.args, ...limits(faultName), ...(form === 'JSON' ? ['--json'] : [])]
    const run = await runIn(world, words, form, local)
    expectGoodManners({ call: local, form, world, run })
    await expectNothingLeft({ call: local, form, world, run }, before)
    return { ...run, requests: server.requests }
  } finally {
    removeWorld(world)
    await server.close()
  }
}

describe('the cells of the matrix of service faults', () => {
  it('include one for each call, fault, and form', () => {
    expect(new Set(cells.map(({ title }) => title)).size).to.equal(
      serviceCalls.flatMap(faultsOf).length * formsHere.length,
    )
    expect(new Set(serviceCalls.map(({ name }) => commandOf(name))).size).to.be.at.least(18)
  })
})
