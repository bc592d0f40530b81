import { spawnSync } from 'node:child_process'
import { globSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { packageFile } from '../scripts/package-file.ts'
import { calls, wordsFor } from '../slow/matrix/calls.ts'
import { testCells } from '../slow/matrix/test-cells.ts'
import { removeWorld, runAsProcess } from '../slow/matrix/world.ts'
import { binary } from '../support/run-chatctl.ts'
import { installNodes, makeEmptyDirectory } from './installation.ts'

/** The package nodejs of Debian is one. CHATCTL_TEST_OLD_NODE names another. */
function findOldNode(): { path: string; version: string } {
  const candidates = [
    process.env['CHATCTL_TEST_OLD_NODE'],
    '/usr/bin/node',
    '/usr/bin/nodejs',
    '/usr/local/bin/node',
    ...globSync(join(homedir(), '.nvm/versions/node/*/bin/node')),
  ]
  for (const path of candidates) {
    const version = path && spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout?.trim().slice(1)
    if (!version) continue
    const [major = 0, minor = 0] = version.split('.').map(Number)
    if (major < 22 || (major === 22 && minor < 19)) return { path, version }
  }
  throw new Error('no Node older than 22.19 was found; name one in CHATCTL_TEST_OLD_NODE')
}

describe('a Node version that is too old', () => {
  for (const args of [['--version'], ['chat', 'send', 'hi'], []]) {
    it(`gets an error of two lines from chatctl ${args.join(' ')}`, () => {
      const { path, version } = findOldNode()
      const { status, stdout, stderr } = spawnSync(path, [binary, ...args], { encoding: 'utf8', input: '' })
      expect({ status, stdout }).to.deep.equal({ status: 1, stdout: '' })
      const [error, hint, ...rest] = stderr.split('\n')
      expect(error).to.match(/^Error: chatctl needs Node\.js 22\.\d+\.\d+ or newer; this is /)
      expect(error).to.contain(version)
      expect(hint).to.match(/^Hint: {2}Install/)
      expect(rest).to.deep.equal([''])
    })
  }
})

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
  testCells(cells, 15, async ({ call }, home) => {
    const world = home.makeWorld()
    try {
      const run = await runAsProcess(world, home.fill(wordsFor(call, 'pipe')), 'pipe', call, program)
      expect(run.exitCode, run.stderr).to.equal(call.fine.pipe)
    } finally {
      removeWorld(world)
    }
  })
})
