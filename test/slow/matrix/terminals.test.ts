import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import stringWidth from 'string-width'
import { perSuite } from '../../support/lifetime.ts'
import { type Call, calls } from './calls.ts'
import { canMakeTerminals, leftOut } from './forms.ts'
import { startGoodService } from './good-service.ts'
import { expectGoodManners } from './invariants.ts'
import { PreparedHome } from './prepared-home.ts'
import { removeWorld, runAsProcess, type World, type WorldRun } from './world.ts'

/** Commands whose tables have many columns or long words. */
const tables = ['auth:list', 'config:list', 'history:list', 'service:keys:list', 'service:audit']

describe(`tables in a narrow terminal${leftOut}`, function () {
  this.timeout(120_000)
  const service = perSuite(startGoodService)
  let home: PreparedHome

  before(async function () {
    if (!canMakeTerminals) return this.skip()
    home = await PreparedHome.make(service.url)
  })
  after(() => {
    home?.remove()
  })

  async function show(name: string, change: (world: World) => void): Promise<WorldRun> {
    const call = calls.find((one) => one.name === name) as Call
    const world = home.makeWorld()
    try {
      change(world)
      const run = await runAsProcess(world, home.fill(call.args), 'terminal', call)
      expect(run.exitCode, run.stdout).to.equal(0)
      expectGoodManners({ call, form: 'terminal', world, run })
      return run
    } finally {
      removeWorld(world)
    }
  }

  for (const columns of [40, 20]) {
    it(`fit in ${columns} columns`, async () => {
      for (const name of tables) {
        const { stdout } = await show(name, (world) => {
          world.columns = columns
        })
        for (const line of stripVTControlCharacters(stdout).split(/\r*\n/))
          expect(stringWidth(line), `${name}: ${line}`).to.be.at.most(columns)
      }
    })
  }

  it('show one value on each line if the columns do not fit', async () => {
    const { stdout } = await show('service:keys:list', (world) => {
      world.columns = 40
    })
    const shown = stripVTControlCharacters(stdout).replaceAll('\r', '')
    for (const line of [/^id +key_\w+$/m, /^name +x$/m, /^tier +\w+$/m]) expect(shown).to.match(line)
  })

  it('show one row on each line if the terminal is wide enough', async () => {
    const { stdout } = await show('service:keys:list', (world) => {
      world.columns = 200
    })
    expect(stripVTControlCharacters(stdout)).to.match(/^ID +NAME +TIER/)
  })

  it('contain no escape sequence in a dumb terminal', async () => {
    for (const name of tables) {
      const { stdout } = await show(name, (world) => {
        world.env = { ...world.env, TERM: 'dumb' }
      })
      expect(stdout, name).not.to.contain('\u001b')
    }
  })
})
