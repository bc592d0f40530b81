import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Call, calls, wordsFor } from '../../slow/matrix/calls.ts'
import { startGoodService } from '../../slow/matrix/good-service.ts'
import { expectGoodManners } from '../../slow/matrix/invariants.ts'
import { PreparedHome } from '../../slow/matrix/prepared-home.ts'
import { keepsSomething, needsData, needsState } from '../../slow/matrix/surroundings/needs.ts'
import { removeWorld, runAsProcess, type World } from '../../slow/matrix/world.ts'
import { perSuite } from '../../support/lifetime.ts'
import { describeSample } from '../../support/take-sample.ts'
import { fillDisk } from './small-disk.ts'

/** Runs every command with its home directory on a separate disk. Needs root to mount one. */

/** The exit codes that a command may have: one that writes may fail, and one that only reads may not. */
function endings(call: Call): readonly number[] {
  const writes = keepsSomething(call) || needsData(call) || needsState(call)
  return writes ? [0, 1] : [call.fine.JSON]
}

const disks: Record<string, (disk: string) => void> = {
  'is full': (disk) => {
    fillDisk(disk)
  },
  'is read-only': (disk) => {
    execFileSync('mount', ['-o', 'remount,ro', disk])
  },
}

describeSample('the matrix of disks', 12, () => {
  const service = perSuite(startGoodService)
  const home = perSuite(() => PreparedHome.make(service.url))
  let world: World
  beforeEach(() => {
    world = home.makeWorld()
    const disk = join(world.root, 'disk')
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=700', 'tmpfs', disk])
    execFileSync('cp', ['-a', `${world.home}/.`, disk])
    world = { ...world, home: disk, env: { ...world.env, HOME: disk } }
  })
  afterEach(() => {
    execFileSync('umount', [world.home])
    removeWorld(world)
  })

  for (const [what, spoil] of Object.entries(disks)) {
    for (const call of calls) {
      it(`runs ${call.name} if the disk of its home directory ${what}`, async () => {
        spoil(world.home)
        const run = await runAsProcess(world, home.fill(wordsFor(call, 'JSON')), 'JSON', call)
        expect(endings(call), run.stderr).to.include(run.exitCode)
        expectGoodManners({ call, form: 'JSON', world, run })
      })
    }
  }
})
