import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { drawFor } from '../../support/random.ts'
import { runProgram } from '../../support/run-program.ts'
import { sampleSeed } from '../../support/take-sample.ts'
import { calls, wordsFor } from './calls.ts'
import { expectGoodManners, expectNothingLeft, filesOf } from './invariants.ts'
import type { PreparedHome } from './prepared-home.ts'
import { testCells } from './test-cells.ts'
import { removeWorld, runIn, type World } from './world.ts'

/**
 * Every command, ended by each signal at a moment that a seed chooses; a third of the cells send it twice.
 */

const signals = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const
type Signal = keyof typeof signals

interface Cell {
  call: (typeof calls)[number]
  signal: Signal
  /** Number of the moment, so that each cell has a different one. */
  moment: number
  again: boolean
  title: string
}

const cells: Cell[] = calls.flatMap((call) =>
  (Object.keys(signals) as Signal[]).flatMap((signal) =>
    [0, 1, 2].map((moment) => {
      const again = moment === 2
      return {
        call,
        signal,
        moment,
        again,
        title: `${call.name}: ${signal}${again ? ', twice' : ''}, moment ${moment}`,
      }
    }),
  ),
)

/** Maximum milliseconds until the signal: most runs take no longer. */
const longest = 450

describe('the matrix of signals', function () {
  this.timeout(240_000)
  testCells(cells, 5, meet)

  async function meet({ call, signal, again, title }: Cell, home: PreparedHome): Promise<void> {
    const world = home.makeWorld()
    const after = Math.floor(drawFor(title, sampleSeed) * longest)
    world.signals = [{ signal, after }, ...(again ? [{ signal, after: 60 }] : [])]
    try {
      const before = new Set(filesOf(world))
      const run = await runIn(world, home.fill(wordsFor(call, 'JSON')), 'JSON', call)
      const ran = { call, form: 'JSON', world, run } as const
      const ending = `after ${after} ms: ${run.exitCode ?? run.signal}; ${run.stderr}`
      // Until the program handles signals, the system ends it, which a shell reports as the same exit code.
      if (run.exitCode === null) expect(run.signal, ending).to.equal(signal)
      else expect([call.fine.JSON, signals[signal]], ending).to.include(run.exitCode)
      expectGoodManners(ran)
      await expectNothingLeft(ran, before)
      await expectWhole(world)
    } finally {
      removeWorld(world)
    }
  }
})

/** The stored files are valid, whenever the program was ended. */
async function expectWhole(world: World): Promise<void> {
  JSON.parse(readFileSync(join(world.home, '.config', 'chatctl', 'config.json'), 'utf8'))
  const sandbox = { home: world.home, env: world.env, remove() {} }
  const status = await runProgram(sandbox, ['service', 'status', '--json'], { env: world.env })
  expect(status, status.stderr).to.include({ exitCode: 0 })
}
