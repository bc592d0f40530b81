import { chmodSync, chownSync, mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { runProgram } from '../support/run-program.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'

/** V8 runs the compiled code that it finds: what somebody else may have put there is not even looked for. */
describe('the compiled code of earlier runs', function () {
  this.timeout(60_000)
  let sandbox: Sandbox
  let base: string
  let folder: string
  beforeEach(function () {
    if (process.platform === 'win32') return this.skip()
    sandbox = createSandbox()
    base = join(sandbox.home, 'base')
    folder = join(base, 'chatctl', 'cache')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  })
  afterEach(() => sandbox?.remove())

  const isUsed = async (): Promise<boolean> => {
    const { exitCode, stderr } = await runProgram(sandbox, ['config', 'path'], {
      env: { XDG_CACHE_HOME: base },
    })
    expect(exitCode, stderr).to.equal(0)
    return readdirSync(folder).length > 0
  }

  const trusted: [string, () => void][] = [
    ['folders that are ours', () => {}],
    ['a folder below one that is everybody’s and sticky, such as /tmp', () => chmodSync(base, 0o1777)],
    [
      'a link of ours to a folder of ours',
      () => {
        const elsewhere = join(sandbox.home, 'elsewhere')
        renameSync(base, elsewhere)
        symlinkSync(elsewhere, base)
      },
    ],
  ]
  for (const [where, prepare] of trusted) {
    it(`is kept in ${where}`, async () => {
      prepare()
      expect(await isUsed()).to.equal(true)
    })
  }

  const distrusted: [string, () => void][] = [
    ['a folder that everybody may write to', () => chmodSync(folder, 0o777)],
    ['a folder that a group may write to', () => chmodSync(folder, 0o770)],
    ['a folder below one that everybody may write to', () => chmodSync(base, 0o777)],
    [
      'a link that lies where everybody may write',
      () => {
        const elsewhere = join(sandbox.home, 'elsewhere')
        renameSync(join(base, 'chatctl'), elsewhere)
        symlinkSync(elsewhere, join(base, 'chatctl'))
        chmodSync(base, 0o777)
      },
    ],
    [
      'a link to a folder below one that everybody may write to',
      () => {
        const elsewhere = join(sandbox.home, 'elsewhere')
        mkdirSync(elsewhere)
        renameSync(join(base, 'chatctl'), join(elsewhere, 'chatctl'))
        symlinkSync(join(elsewhere, 'chatctl'), join(base, 'chatctl'))
        chmodSync(elsewhere, 0o777)
      },
    ],
  ]
  for (const [where, prepare] of distrusted) {
    it(`is neither kept in nor read from ${where}`, async () => {
      prepare()
      expect(await isUsed()).to.equal(false)
    })
  }

  for (const [what, of] of [
    ['folder', () => folder],
    ['folder above', () => base],
  ] as const) {
    it(`is neither kept in nor read from where the ${what} is somebody else’s`, async function () {
      // Only root can give a folder away.
      if (process.getuid?.() !== 0) return this.skip()
      chownSync(of(), 54_321, 54_321)
      expect(await isUsed()).to.equal(false)
    })
  }
})
