import { rmSync } from 'node:fs'
import { expect } from 'chai'
import { packageFile } from '../scripts/package-file.ts'
import { calls, wordsFor } from '../slow/matrix/calls.ts'
import { testCells } from '../slow/matrix/test-cells.ts'
import { removeWorld, runAsProcess } from '../slow/matrix/world.ts'
import { binary } from '../support/run-chatctl.ts'
import { installNodes, makeEmptyDirectory } from './installation.ts'

/** Runs every command on the oldest supported version of Node. Needs the npm registry. */

const oldest = packageFile.engines.node.replace('>=', '')

describe(`on Node ${oldest}`, function () {
  this.timeout(240_000)
  let directory: string
  let program: string[]
  before(async () => {
    directory = makeEmptyDirectory()
    const [node = ''] = await installNodes(directory, [oldest])
    program = [node, binary]
  })
  after(() => rmSync(directory, { recursive: true, force: true }))

  const cells = calls.map((call) => ({ call, title: `chatctl ${call.args.join(' ')} succeeds` }))
  testCells(cells, cells.length, async ({ call }, home) => {
    const world = home.makeWorld()
    try {
      const run = await runAsProcess(world, home.fill(wordsFor(call, 'pipe')), 'pipe', call, program)
      expect(run.exitCode, run.stderr).to.equal(call.fine.pipe)
    } finally {
      removeWorld(world)
    }
  })
})
